// Which periods have closed by when, and the ids of their reports.
import { describe, expect, it } from "vitest";
import { closedBetween, closedWithin, insightId, parseInsightId } from "../../src/model/insight.ts";

const at = (time: string): number => Date.parse(`${time}Z`);
const named = (periods: readonly { readonly kind: string; readonly start: number }[]): string[] =>
  periods.map(({ kind, start }) => `${kind} ${new Date(start).toISOString().slice(0, 10)}`);

describe("the closed weeks and months", () => {
  // The first of June 2026 is a Monday.
  it.each([
    ["2026-05-31T23:59:59.999", "2026-06-01T00:00", ["WEEK 2026-05-25", "MONTH 2026-05-01"]],
    ["2026-05-31", "2026-05-31T23:59:59.999", []],
    ["2026-06-01", "2026-06-07", []],
    ["2026-06-01", "2026-06-08", ["WEEK 2026-06-01"]],
    [
      "2026-05-20",
      "2026-06-08",
      ["WEEK 2026-05-18", "WEEK 2026-05-25", "MONTH 2026-05-01", "WEEK 2026-06-01"],
    ],
  ])("after %s and up to %s are %j", (from, until, expected) => {
    expect(named(closedBetween(at(from), at(until)))).toEqual(expected);
  });

  it.each([
    ["2026-06-03", "2026-06-04", ["WEEK 2026-06-01", "MONTH 2026-06-01"]],
    ["2026-05-31T23:59:59.999", "2026-06-01", ["WEEK 2026-05-25", "MONTH 2026-05-01"]],
    ["2026-06-28", "2026-06-29", ["WEEK 2026-06-22", "MONTH 2026-06-01"]],
    ["2026-06-28", "2026-06-30", ["WEEK 2026-06-22", "MONTH 2026-06-01"]],
  ])("that overlap the time from %s to %s, by the first of July, are %j", (from, to, expected) => {
    expect(named(closedWithin(at(from), at(to), at("2026-07-01")))).toEqual(expected);
  });
});

it.each([
  ["a__b__2026-06-01__2026-06-08", { call_id: "a__b", kind: "WEEK", start: at("2026-06-01") }],
  ["call__2026-06-01__2026-07-01", { call_id: "call", kind: "MONTH", start: at("2026-06-01") }],
] as const)("%s is the id of a report", (id, key) => {
  expect(parseInsightId(id)).toEqual(key);
  expect(insightId(key)).toBe(id);
});

it.each([
  "call__2026-06-01__2026-06-09",
  "call__2026-06-02__2026-06-09",
  "call__2026-13-01__2026-14-01",
  "__2026-06-01__2026-06-08",
  "call",
])("%s is none", (id) => {
  expect(parseInsightId(id)).toBeUndefined();
});
