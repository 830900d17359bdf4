import { expect, it } from "vitest";
import { worstOf } from "../../src/model/insight-report.ts";
import type { HourResults } from "../../src/model/insight-report.ts";

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
