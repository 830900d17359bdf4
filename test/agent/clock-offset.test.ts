import { describe, expect, it } from "vitest";
import { bestOf, isRight, measure, withMeasurement } from "../../src/agent/clock-offset.ts";
import type { Measurement } from "../../src/agent/clock-offset.ts";

const HUB = 1_790_000_000_000;

describe("an answer of the hub", () => {
  it.each([
    ["at once", { sent: 100, received: 100, hubTime: HUB + 100 }, HUB, 1],
    ["after 10 ms", { sent: 100, received: 110, hubTime: HUB + 105 }, HUB, 6],
    ["all of it on the way there", { sent: 0, received: 10, hubTime: 10 }, 5, 6],
    ["all of it on the way back", { sent: 0, received: 10, hubTime: 0 }, -5, 6],
  ])("%s tells its time to half of the round trip", (_, answer, ahead, error) => {
    expect(measure(answer)).toMatchObject({ ahead, error });
  });
});

const at = (at: number, ahead: number, error: number): Measurement => ({
  at,
  ahead,
  error,
});

describe("of several measurements", () => {
  it.each<[string, Measurement[], number | undefined]>([
    ["none is best among none", [], undefined],
    ["one is the best", [at(0, 7, 5)], 7],
    ["that of the least round trip is", [at(0, 7, 5), at(10, 8, 3), at(20, 9, 4)], 8],
    ["the earlier one of two that are equal is when none is aged", [at(0, 7, 5), at(0, 8, 5)], 7],
    [
      "a new one is when the old one's error has grown with its age",
      [at(0, 7, 5), at(100_000, 8, 6)],
      8,
    ],
  ])("%s", (_, kept, ahead) => {
    expect(bestOf(kept, 100_000)?.ahead).toBe(ahead);
  });

  it.each<[string, Measurement[], Measurement, number[]]>([
    ["the first is kept", [], at(0, 7, 5), [7]],
    ["those that agree are kept together", [at(0, 7, 5)], at(1, 16, 4), [7, 16]],
    [
      "one that contradicts them stands alone, also when it is worse",
      [at(0, 7, 5), at(1, 8, 5)],
      at(2, 31, 17),
      [31],
    ],
    ["it is the best one that counts", [at(0, 90, 90), at(1, 7, 5)], at(2, 60, 5), [60]],
  ])("%s", (_, kept, latest, expected) => {
    const after = withMeasurement(kept, latest);
    expect(after.map(({ ahead }) => ahead)).toEqual(expected);
  });

  it("the last eight are kept", () => {
    let kept: readonly Measurement[] = [];
    for (let n = 1; n <= 10; n += 1) kept = withMeasurement(kept, at(n, n, 100));
    expect(kept.map(({ ahead }) => ahead)).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
  });
});

it.each([
  ["it shows what was measured", 50, 6, true],
  ["it is off by the error", 44, 6, true],
  ["it is off by more than the error, and no more than 10 ms", 60, 6, true],
  ["it is off by more than either", 61, 6, false],
  ["it is off by the error of a slow answer", 110, 60, true],
  ["it is off by more than that", 111, 60, false],
  ["it is ten minutes off", 600_050, 6, false],
])("where %s, is a clock right?", (_, shown, error, right) => {
  expect(isRight({ at: 0, ahead: HUB, error }, { now: HUB + shown, monotonic: 50 })).toBe(right);
});
