// How the pages present insights reports.
import { describe, expect, it } from "vitest";
import {
  bandOfEntry,
  formatShare,
  historyOf,
  latestOf,
  neighboursOf,
  nextScoresAt,
  placesOf,
  speedOf,
} from "../../web/src/insights.ts";
import type { InsightEntry, RankedCall } from "../../web/src/insights.ts";
import { nameOfPeriod, shortNameOfPeriod } from "../../web/src/periods.ts";

const ranked = (id: string, score: number, band: RankedCall["band"] = "good") =>
  ({ id, score, band }) as RankedCall;

it("gives equal scores the better place, and none to calls without a score", () => {
  const calls = [ranked("few", 0, null), ranked("c", 700), ranked("a", 900), ranked("b", 900)];
  const places = placesOf([...calls, ranked("d", 0, "poor")]);
  expect(Object.fromEntries(places)).toEqual({ a: 1, b: 1, c: 3, d: 4 });
});

it("ranks the calls with a report for the latest period, like the interface", () => {
  const [old, first, second] = [ranked("old", 990), ranked("a", 900), ranked("b", 800)];
  const now = { most_recent: "2026-11-23T00:00:00Z" };
  const calls = [
    { ...old, most_recent: "2026-11-16T00:00:00Z" },
    { ...first, ...now },
  ];
  const latest = latestOf([...calls, { ...second, ...now }]);
  expect(latest.start).toBe(Date.UTC(2026, 10, 23));
  expect(Object.fromEntries(placesOf(latest.calls))).toEqual({ a: 1, b: 2 });
});

it.each([
  ["2026-11-22T23:59:59Z", "2026-11-23T00:10:00Z"],
  ["2026-11-23T00:09:59Z", "2026-11-23T00:10:00Z"],
  ["2026-11-23T00:10:00Z", "2026-11-30T00:10:00Z"],
])("at %s, the next scores arrive at %s", (now, at) => {
  expect(nextScoresAt("WEEK", Date.parse(now))).toBe(Date.parse(at));
});

it("has a place in the history for each period, with or without a report", () => {
  const report = { start_date: "2026-10-19T00:00:00.000000Z", score: 433 } as InsightEntry;
  const history = historyOf("WEEK", Date.UTC(2026, 10, 9), [report]);
  expect(history.map(({ start }) => shortNameOfPeriod("WEEK", start))).toEqual([
    "09-21",
    "09-28",
    "10-05",
    "10-12",
    "10-19",
    "10-26",
    "11-02",
    "11-09",
  ]);
  expect(history.map((past) => past.report?.score)).toEqual(
    [undefined, undefined, undefined, undefined, 433].concat([undefined, undefined, undefined]),
  );
});

it.each([
  [0, -1, null],
  [0, 3, "poor"],
  [600, 2, "fair"],
  [800, 1, "good"],
])("a score of %i with the rank %i is %s", (score, rank, band) => {
  expect(bandOfEntry({ score, rank })).toBe(band);
});

it("finds the neighbouring reports from a report's id", () => {
  expect(neighboursOf("call__2026-01-01__2026-02-01")).toEqual({
    call_id: "call",
    kind: "MONTH",
    start: Date.UTC(2026, 0, 1),
    before: "call__2025-12-01__2026-01-01",
    after: "call__2026-02-01__2026-03-01",
  });
  expect(neighboursOf("call__2026-01-01__2026-02-02")).toBeUndefined();
});

it.each([
  [1, "1"],
  [0.99999, "0.9999"],
  [0.5132605, "0.5133"],
  [0.00195, "0.00195"],
  [0, "0"],
  [1.23456, "1.235"],
])("shows %d in a formula as %s: never 1 where it is less", (value, shown) => {
  expect(formatShare(value)).toBe(shown);
});

it("names periods by their days, the last one included", () => {
  const at = Date.UTC(2026, 11, 28);
  expect(nameOfPeriod("WEEK", at)).toBe("Week of 2026-12-28 to 2027-01-03");
  expect(nameOfPeriod("DAY", at)).toBe("2026-12-28");
  expect(nameOfPeriod("MONTH", Date.UTC(2026, 11, 1))).toBe("December 2026");
  expect(nameOfPeriod("YEAR", Date.UTC(2026, 0, 1))).toBe("2026");
});

describe("the average time of a call", () => {
  it.each([
    [4620, 4020, "slower"],
    [4020, 4620, "faster"],
    [109, 100, undefined],
    [14, 10, undefined],
    [100, null, undefined],
    [0, 100, undefined],
  ])("of %d ms, after %s, is %s", (mean_test_length, mean_test_length_before, speed) => {
    expect(speedOf({ mean_test_length, mean_test_length_before })).toBe(speed);
  });
});
