// The table that a benchmark prints: medians, spreads, ratios and goals.
import { describe, expect, it } from "vitest";
import { isMet, ratioOf, tableOf } from "../../bench/support/figures.ts";
import { quantile } from "../../bench/support/statistics.ts";

const figure = { what: "latency", unit: "ms", rounds: [9, 1, 4] };
const beside = { what: "peer", rounds: [2, 8, 1] };

describe("a figure", () => {
  it("is the median of its rounds, with their spread", () => {
    expect(tableOf([figure]).split("\n")[1]?.trim()).toMatch(/^latency +4 +1\.\.9 +ms$/);
  });

  it("stands beside the median of its yardstick, as a ratio", () => {
    expect(ratioOf(figure)).toBeUndefined();
    expect(ratioOf({ ...figure, beside })).toBe(2);
    expect(tableOf([{ ...figure, beside }])).toMatch(/peer 2 +2\.00$/);
  });

  it.each([
    [{ atMost: 4 }, true],
    [{ atMost: 3.9 }, false],
    [{ atLeast: 4 }, true],
    [{ atLeast: 4.1 }, false],
    [{ ratioAtMost: 2 }, true],
    [{ ratioAtLeast: 2.1 }, false],
  ] as const)("compares its goal %j with the median or the ratio: %s", (goal, met) => {
    expect(isMet({ ...figure, beside, goal })).toBe(met);
    expect(tableOf([{ ...figure, beside, goal }])).toContain(met ? "met" : "MISSED");
  });

  it("leaves a goal open if its yardstick or value is missing", () => {
    expect(isMet({ ...figure, goal: { ratioAtMost: 1 } })).toBeUndefined();
    expect(isMet({ ...figure, rounds: [NaN], goal: { atMost: 1 } })).toBeUndefined();
  });
});

describe("a quantile", () => {
  it.each([
    [0, 1],
    [0.5, 50],
    [0.99, 99],
    [1, 100],
  ])("of a share of %s of a hundred values is the %s. of them", (share, value) => {
    const values = Array.from({ length: 100 }, (_, n) => 100 - n);
    expect(quantile(values, share)).toBe(value);
  });

  it("is no number where there are no values", () => {
    expect(quantile([], 0.5)).toBeNaN();
  });
});
