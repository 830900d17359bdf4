// The calendar periods of statistics.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  keptPartsOf,
  PARTS,
  PERIOD_KINDS,
  periodEnd,
  periodStart,
} from "../../src/model/periods.ts";
import { formatPeriodTime, parseInstant } from "../../src/model/instant.ts";

/** In UTC. */
const at = (text: string): number => parseInstant(text) ?? Number.NaN;

describe("the period that contains an instant", () => {
  it.each([
    ["an hour", "HOUR", "2026-10-01T12:34:56.789", "2026-10-01T12:00", "2026-10-01T13:00"],
    [
      "an hour from its first millisecond",
      "HOUR",
      "2026-10-01T12:00",
      "2026-10-01T12:00",
      "2026-10-01T13:00",
    ],
    [
      "an hour to its last millisecond",
      "HOUR",
      "2026-10-01T12:59:59.999",
      "2026-10-01T12:00",
      "2026-10-01T13:00",
    ],
    [
      "the last hour of a year",
      "HOUR",
      "2026-12-31T23:59:59.999",
      "2026-12-31T23:00",
      "2027-01-01",
    ],
    ["a day", "DAY", "2026-10-01T12:34:56", "2026-10-01", "2026-10-02"],
    ["a day from midnight", "DAY", "2026-10-01", "2026-10-01", "2026-10-02"],
    ["a leap day", "DAY", "2028-02-29T23:59:59.999", "2028-02-29", "2028-03-01"],
    [
      "a day on which clocks are set elsewhere",
      "DAY",
      "2026-03-29T01:30",
      "2026-03-29",
      "2026-03-30",
    ],
    ["a week, from a Thursday", "WEEK", "2026-10-01T12:34:56", "2026-09-28", "2026-10-05"],
    ["a week from Monday midnight", "WEEK", "2026-09-28", "2026-09-28", "2026-10-05"],
    ["a week to the end of Sunday", "WEEK", "2026-10-04T23:59:59.999", "2026-09-28", "2026-10-05"],
    ["ISO week 53 over the year's edge", "WEEK", "2027-01-01", "2026-12-28", "2027-01-04"],
    [
      "ISO week 1 that begins in the old year",
      "WEEK",
      "2024-12-31T12:00",
      "2024-12-30",
      "2025-01-06",
    ],
    ["a week with a leap day", "WEEK", "2028-03-01", "2028-02-28", "2028-03-06"],
    ["a month of 31 days", "MONTH", "2026-10-31T23:59:59.999", "2026-10-01", "2026-11-01"],
    ["a month of 30 days", "MONTH", "2026-11-30T23:59:59.999", "2026-11-01", "2026-12-01"],
    ["a February of 28 days", "MONTH", "2026-02-28T12:00", "2026-02-01", "2026-03-01"],
    ["a February of 29 days", "MONTH", "2028-02-29T12:00", "2028-02-01", "2028-03-01"],
    ["a December", "MONTH", "2026-12-31T23:59:59.999", "2026-12-01", "2027-01-01"],
    ["a year", "YEAR", "2026-06-15T12:00", "2026-01-01", "2027-01-01"],
    ["a year from its first instant", "YEAR", "2027-01-01", "2027-01-01", "2028-01-01"],
    ["a leap year", "YEAR", "2028-12-31T23:59:59.999", "2028-01-01", "2029-01-01"],
    ["an hour before 1970", "HOUR", "1969-12-31T23:59:59.999", "1969-12-31T23:00", "1970-01-01"],
    ["a day before 1970", "DAY", "1969-12-31T00:00:00.001", "1969-12-31", "1970-01-01"],
    ["the week of the epoch", "WEEK", "1970-01-01", "1969-12-29", "1970-01-05"],
    ["a month before 1970", "MONTH", "1969-12-31T23:59:59.999", "1969-12-01", "1970-01-01"],
    ["a year before 1970", "YEAR", "1968-02-29", "1968-01-01", "1969-01-01"],
    ["a year of two digits", "YEAR", "0050-06-01", "0050-01-01", "0051-01-01"],
  ] as const)("is %s", (_, kind, instant, start, end) => {
    expect(formatPeriodTime(periodStart(kind, at(instant)))).toBe(formatPeriodTime(at(start)));
    expect(formatPeriodTime(periodEnd(kind, at(instant)))).toBe(formatPeriodTime(at(end)));
  });

  it.each(PERIOD_KINDS)("meets the next of kind %s without a gap", (kind) => {
    const anyInstant = fc.integer({ min: -2e12, max: 4e12 });
    fc.assert(
      fc.property(anyInstant, (ms) => {
        const [start, end] = [periodStart(kind, ms), periodEnd(kind, ms)];
        expect(start).toBeLessThanOrEqual(ms);
        expect(end).toBeGreaterThan(ms);
        expect(periodStart(kind, start)).toBe(start);
        expect(periodStart(kind, end - 1)).toBe(start);
        expect(periodStart(kind, end)).toBe(end);
      }),
    );
  });

  it.each(PERIOD_KINDS)("of kind %s is covered by its parts without a gap", (kind) => {
    const anyInstant = fc.integer({ min: -2e12, max: 4e12 });
    fc.assert(
      fc.property(anyInstant, (ms) => {
        const parts = keptPartsOf(kind, ms);
        const ends = parts.map((part) => periodEnd(PARTS[kind], part));
        expect([...parts, periodEnd(kind, ms)]).toEqual([periodStart(kind, ms), ...ends]);
        for (const part of parts) expect(periodStart(PARTS[kind], part)).toBe(part);
      }),
    );
  });
});
