import { describe, expect, it } from "vitest";
import { explain } from "../../src/model/insight-explanation.ts";
import type { Explained } from "../../src/model/insight-explanation.ts";
import type { InsightDetails } from "../../src/model/insight.ts";
import { bandOf, partsOf, scoreOfParts } from "../../src/model/score.ts";

type Given = Partial<Pick<Explained, "made" | "passed" | "outliers" | "kind">> &
  Partial<Pick<InsightDetails, "failures">> & {
    readonly variation?: number;
    readonly slowest?: number;
  };

function aReport(given: Given): Explained {
  const { made = 10_080, passed = made, outliers = 0, kind = "WEEK", variation = 0.2 } = given;
  const parts = partsOf(made && passed / made, passed && outliers / passed, variation);
  const slowest = { result_id: "r", time: 0, location_id: "local", latency: given.slowest ?? 0 };
  const details = {
    parts,
    failures: given.failures ?? [],
    outliers: given.slowest === undefined ? [] : [slowest],
  } as unknown as InsightDetails;
  const score = made < 24 || passed === 0 ? 0 : scoreOfParts(parts);
  return { kind, made, passed, outliers, score, details };
}

const sentences = (now: Given, before?: Given): string[] =>
  Object.values(explain(aReport(now), before && aReport(before))).map(({ sentence }) => sentence);

const SERVER_ERRORS = { result: "HTTP_SERVER_ERROR", count: 9 } as const;

it.each<[what: string, now: Given, before: Given | undefined, expected: readonly string[]]>([
  [
    "what failed, how, and what moved",
    {
      passed: 10_068,
      outliers: 30,
      variation: 0.2134,
      slowest: 4210,
      failures: [
        { result: "MISSED", count: 40 },
        SERVER_ERRORS,
        { result: "CONNECTION_ERROR", count: 3 },
      ],
    },
    { passed: 10_077, outliers: 12, variation: 0.18 },
    [
      "Availability cost 11 points: 12 of 10,080 calls failed, 9 of them HTTP_SERVER_ERROR; the week before, 3 failed.",
      "Outliers cost 6 points: 30 of 10,068 calls that passed took unusually long, up to 4.21 s; the week before, 12 did.",
      "Consistency cost 11 points: usual times varied by 21 % of their mean; the week before, by 18 %.",
    ],
  ],
  [
    "one of each, and a month with other numbers of calls",
    {
      kind: "MONTH",
      made: 6000,
      passed: 5999,
      outliers: 1,
      slowest: 900,
      variation: 0.0633,
      failures: [{ result: "CONNECTION_ERROR", count: 1 }],
    },
    { made: 400, passed: 0, variation: 0 },
    [
      "Availability cost 1 point: 1 of 6,000 calls failed, CONNECTION_ERROR; the month before, 400 of 400 failed.",
      "Outliers cost 1 point: 1 of 5,999 calls that passed took unusually long, 900 ms; the month before, no call passed.",
      "Consistency cost 1 point: usual times varied by 6.3 % of their mean; the month before, no call passed.",
    ],
  ],
  [
    "nothing that went wrong",
    { made: 24, variation: 0 },
    { made: 12, variation: 0 },
    [
      "Availability cost no points: all 24 calls passed; the week before, none of 12 failed.",
      "Outliers cost no points: none of 24 calls that passed took unusually long; the week before, none did.",
      "Consistency cost no points: usual times varied by 0 % of their mean; the week before, by 0 %.",
    ],
  ],
  [
    "that none passed",
    { made: 30, passed: 0, variation: 0, failures: [{ ...SERVER_ERRORS, count: 30 }] },
    { made: 0, variation: 0 },
    [
      "Availability cost 999 points: 30 of 30 calls failed, all of them HTTP_SERVER_ERROR; the week before, no call was made.",
      "Outliers cost no points: no call passed; the week before, no call passed.",
      "Consistency cost no points: no call passed; the week before, no call passed.",
    ],
  ],
  [
    "that calls were too few for a score",
    { made: 1, variation: 0 },
    undefined,
    [
      "Availability (no score with fewer than 24 calls): the only call passed.",
      "Outliers (no score with fewer than 24 calls): none of 1 call that passed took unusually long.",
      "Consistency (no score with fewer than 24 calls): usual times varied by 0 % of their mean.",
    ],
  ],
])("says %s", (_, now, before, expected) => {
  expect(sentences(now, before)).toEqual(expected);
});

describe("points", () => {
  it.each<Given>([
    { passed: 9000, outliers: 100, variation: 0.4 },
    { passed: 10_079, outliers: 7, variation: 1.5 },
    { passed: 0, variation: 0 },
    {},
  ])("add up to what the score lacks: %o", (given) => {
    const report = aReport(given);
    const points = Object.values(explain(report, undefined)).map(({ points: cost }) => cost ?? 0);
    expect(points.reduce((a, b) => a + b)).toBe(999 - report.score);
    expect(Math.min(...points)).toBeGreaterThanOrEqual(0);
  });

  it("are null without a score", () => {
    const { availability } = explain(aReport({ made: 23 }), undefined);
    expect(availability.points).toBeNull();
  });
});

it.each([
  [999, "good"],
  [800, "good"],
  [799, "fair"],
  [600, "fair"],
  [599, "poor"],
  [0, "poor"],
])("calls a score of %i %s", (score, band) => {
  expect(bandOf({ score, made: 24 })).toBe(band);
  expect(bandOf({ score, made: 23 })).toBeNull();
});
