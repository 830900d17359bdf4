import { describe, expect, it } from "vitest";
import { LONGEST_CALL_MS, LONGEST_CALLS_MS, workflowLimitMs } from "../../src/model/time-limits.ts";

describe("the time limit of a workflow", () => {
  it.each<[string, number[], number, number]>([
    ["none without calls", [], 60, 0],
    ["a call's and three seconds", [30_000], 60, 33_000],
    ["its calls' and the delays between them", [30_000, 5000], 60, 101_000],
    [
      "at most 15 minutes and the delays",
      Array.from({ length: 20 }, () => LONGEST_CALL_MS),
      3600,
      LONGEST_CALLS_MS + 19 * 3_600_000,
    ],
  ])("is %s", (_what, timeouts, delay, limit) => {
    expect(workflowLimitMs(timeouts, delay)).toBe(limit);
  });
});
