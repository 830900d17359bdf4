// The windows in which PostgreSQL looks for pages of a call's results.
import { describe, expect, it } from "vitest";
import { windowsOf } from "../../src/store/results/result-windows.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const SPANS = { late: 25 * HOUR, early: HOUR };
const day = (n: number, count = 1) => ({ period: n * DAY, count });
/** Converts windows to hours. */
const hours = (windows: ReturnType<typeof windowsOf>) =>
  windows.map((ranges) => ranges.map(({ start, end }) => [start / HOUR, end / HOUR]));

describe("the windows of a page", () => {
  const forwards = (days: readonly { period: number; count: number }[], limit: number) =>
    hours(windowsOf(days, SPANS, { order: "asc", limit }));
  const backwards = (days: readonly { period: number; count: number }[], limit: number) =>
    hours(windowsOf(days.toReversed(), SPANS, { order: "desc", limit }));

  it("reach from a day's delay before a day to an hour after it", () => {
    expect(forwards([day(10)], 5)).toEqual([[[215, 265]]]);
    expect(backwards([day(10)], 5)).toEqual([[[215, 265]]]);
    expect(forwards([day(0)], 5)).toEqual([[[0, 25]]]);
    expect(forwards([], 5)).toEqual([]);
  });

  it("leave out the days between, in which nothing started", () => {
    const days = [day(10), day(11), day(40), day(89)];
    const ranges = [
      [215, 289],
      [935, 985],
      [2111, 2161],
    ];
    expect(forwards(days, 5)).toEqual([ranges]);
    expect(backwards(days, 5)).toEqual([ranges.toReversed()]);
  });

  it("end where the page is full, and overlap nowhere", () => {
    const days = [day(10, 3), day(11, 3), day(12, 3)];
    expect(forwards(days, 3)).toEqual([[[215, 265]], [[265, 289]], [[289, 313]]]);
    expect(backwards(days, 3)).toEqual([[[263, 313]], [[239, 263]], [[215, 239]]]);
    expect(forwards(days, 4)).toEqual([[[215, 289]], [[289, 313]]]);
    expect(backwards(days, 4)).toEqual([[[239, 313]], [[215, 239]]]);
  });
});
