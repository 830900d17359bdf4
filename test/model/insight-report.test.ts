import { expect, it } from "vitest";
import { createLatencyCounts, reportOf, worstOf } from "../../src/model/insight-report.ts";
import type { CountedLatency, HourResults } from "../../src/model/insight-report.ts";
import type { ResultCode } from "../../src/model/result.ts";
import { countOnly } from "../../src/model/summary.ts";
import type { Summary } from "../../src/model/summary.ts";
import { scoreOf } from "../support/score.ts";

const HOUR = 3_600_000;

const anHour = (n: number, passed: number, failed: number, mean = 100): HourResults[] =>
  [
    { time: n * HOUR, result: "COMPLETE", count: passed, mean } as const,
    { time: n * HOUR, result: "HTTP_SERVER_ERROR", count: failed, mean: 9 } as const,
    { time: n * HOUR, result: "MISSED", count: 7, mean: 0 } as const,
  ].filter(({ count }) => count > 0);

it("puts first the hours with the lowest pass share, then most failures, then slowest", () => {
  const hours = [
    anHour(1, 10, 0, 400),
    anHour(2, 10, 0, 900),
    anHour(3, 1, 1),
    anHour(4, 0, 0),
    anHour(5, 2, 2),
    anHour(6, 0, 1),
    anHour(7, 10, 0, 400),
  ].flat();
  expect(worstOf(hours)).toEqual([
    { time: 6 * HOUR, made: 1, passed: 0, mean_test_length: null },
    { time: 5 * HOUR, made: 4, passed: 2, mean_test_length: 100 },
    { time: 3 * HOUR, made: 2, passed: 1, mean_test_length: 100 },
    { time: 2 * HOUR, made: 10, passed: 10, mean_test_length: 900 },
    { time: 1 * HOUR, made: 10, passed: 10, mean_test_length: 400 },
  ]);
});

const counted = (
  location_id: string,
  result: ResultCode,
  latency: number,
  [count, uncertain]: readonly [number, number],
): CountedLatency => ({ location_id, result, latency, count, uncertain });

it("judges each location by the calls that it made", () => {
  const counts = createLatencyCounts();
  counts.add([
    counted("near", "COMPLETE", 40, [20, 1]),
    counted("far", "CONNECTION_ERROR", 7, [5, 0]),
    counted("near", "HTTP_SERVER_ERROR", 3, [4, 2]),
    counted("near", "MISSED", 0, [9, 0]),
  ]);
  counts.add([counted("near", "COMPLETE", 40, [1, 1])]);
  const locations = counts.locations();
  expect(locations).toEqual([
    { location_id: "far", made: 5, passed: [] },
    { location_id: "near", made: 25, passed: [{ latency: 40, count: 21, uncertain: 2 }] },
  ]);
  const summaries = new Map<ResultCode, Summary>([
    ["COMPLETE", countOnly(21)],
    ["CONNECTION_ERROR", countOnly(5)],
    ["HTTP_SERVER_ERROR", countOnly(4)],
    ["MISSED", countOnly(9)],
    ["HTTP_CLIENT_ERROR", countOnly(5)],
    ["SKIPPED", countOnly(0)],
  ]);
  const parts = { locations, summaries, hours: [], outliers: [], score: scoreOf(30, locations) };
  const { details } = reportOf({ call_id: "call", kind: "WEEK", start: 0 }, parts);
  const none = { q1: 0, median: 0, q3: 0, outlier_from: 0, outliers: 0, mean_test_length: 0 };
  expect(details.locations).toMatchObject([
    { location_id: "far", made: 5, passed: 0, pass_percent: 0, variation: 0, ...none },
    { location_id: "near", made: 25, passed: 21, pass_percent: 84, median: 40, outliers: 0 },
  ]);
  const inAnswers = details.locations.map((location) => Object.keys(location).slice(0, 4));
  const first = ["location_id", "made", "passed", "pass_percent"];
  expect(inAnswers).toEqual([first, first]);
  expect(details.failures).toEqual([
    { result: "MISSED", count: 9 },
    { result: "CONNECTION_ERROR", count: 5 },
    { result: "HTTP_CLIENT_ERROR", count: 5 },
    { result: "HTTP_SERVER_ERROR", count: 4 },
  ]);
});
