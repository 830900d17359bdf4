import { describe, expect, it } from "vitest";
import { NO_TIMING } from "../../src/model/timing.ts";
import { isUncertain } from "../../src/model/uncertainty.ts";

describe("a result is uncertain", () => {
  it.each([
    [10.001, 50, true],
    [10, 50, false], // no more than 10 ms
    [10.001, 100.01, false], // no more than 10 %
    [10.001, 100, true],
    [500, 501, true],
    [null, null, false], // no call was made, or an earlier version of the agent made it
  ])("with %s ms of %s: %s", (uncertainty, total, expected) => {
    expect(isUncertain({ ...NO_TIMING, uncertainty, total })).toBe(expected);
  });
});
