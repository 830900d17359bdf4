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
import { formatPeriodTime } from "../../src/model/instant.ts";

describe("the period that contains an instant", () => {
  it.each([
    ["an hour", "HOUR", "2026-10-01T12:34:56.789Z", "2026-10-01T12:00:00Z", "2026-10-01T13:00:00Z"],
    [
      "an hour from its first millisecond",
      "HOUR",
      "2026-10-01T12:00:00.000Z",
      "2026-10-01T12:00:00Z",
      "2026-10-01T13:00:00Z",
    ],
    [
      "an hour to its last millisecond",
      "HOUR",
      "2026-10-01T12:59:59.999Z",
      "2026-10-01T12:00:00Z",
      "2026-10-01T13:00:00Z",
    ],
    [
      "the last hour of a year",
      "HOUR",
      "2026-12-31T23:59:59.999Z",
      "2026-12-31T23:00:00Z",
      "2027-01-01T00:00:00Z",
    ],
    ["a day", "DAY", "2026-10-01T12:34:56Z", "2026-10-01T00:00:00Z", "2026-10-02T00:00:00Z"],
    [
      "a day from midnight",
      "DAY",
      "2026-10-01T00:00:00Z",
      "2026-10-01T00:00:00Z",
      "2026-10-02T00:00:00Z",
    ],
    [
      "a leap day",
      "DAY",
      "2028-02-29T23:59:59.999Z",
      "2028-02-29T00:00:00Z",
      "2028-03-01T00:00:00Z",
    ],
    [
      "a day on which clocks are set elsewhere",
      "DAY",
      "2026-03-29T01:30:00Z",
      "2026-03-29T00:00:00Z",
      "2026-03-30T00:00:00Z",
    ],
    [
      "a week, from a Thursday",
      "WEEK",
      "2026-10-01T12:34:56Z",
      "2026-09-28T00:00:00Z",
      "2026-10-05T00:00:00Z",
    ],
    [
      "a week from Monday midnight",
      "WEEK",
      "2026-09-28T00:00:00Z",
      "2026-09-28T00:00:00Z",
      "2026-10-05T00:00:00Z",
    ],
    [
      "a week to the end of Sunday",
      "WEEK",
      "2026-10-04T23:59:59.999Z",
      "2026-09-28T00:00:00Z",
      "2026-10-05T00:00:00Z",
    ],
    [
      "ISO week 53 over the year's edge",
      "WEEK",
      "2027-01-01T00:00:00Z",
      "2026-12-28T00:00:00Z",
      "2027-01-04T00:00:00Z",
    ],
    [
      "ISO week 1 that begins in the old year",
      "WEEK",
      "2024-12-31T12:00:00Z",
      "2024-12-30T00:00:00Z",
      "2025-01-06T00:00:00Z",
    ],
    [
      "a week with a leap day",
      "WEEK",
      "2028-03-01T00:00:00Z",
      "2028-02-28T00:00:00Z",
      "2028-03-06T00:00:00Z",
    ],
    [
      "a month of 31 days",
      "MONTH",
      "2026-10-31T23:59:59.999Z",
      "2026-10-01T00:00:00Z",
      "2026-11-01T00:00:00Z",
    ],
    [
      "a month of 30 days",
      "MONTH",
      "2026-11-30T23:59:59.999Z",
      "2026-11-01T00:00:00Z",
      "2026-12-01T00:00:00Z",
    ],
    [
      "a February of 28 days",
      "MONTH",
      "2026-02-28T12:00:00Z",
      "2026-02-01T00:00:00Z",
      "2026-03-01T00:00:00Z",
    ],
    [
      "a February of 29 days",
      "MONTH",
      "2028-02-29T12:00:00Z",
      "2028-02-01T00:00:00Z",
      "2028-03-01T00:00:00Z",
    ],
    [
      "a December",
      "MONTH",
      "2026-12-31T23:59:59.999Z",
      "2026-12-01T00:00:00Z",
      "2027-01-01T00:00:00Z",
    ],
    ["a year", "YEAR", "2026-06-15T12:00:00Z", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"],
    [
      "a year from its first instant",
      "YEAR",
      "2027-01-01T00:00:00Z",
      "2027-01-01T00:00:00Z",
      "2028-01-01T00:00:00Z",
    ],
    [
      "a leap year",
      "YEAR",
      "2028-12-31T23:59:59.999Z",
      "2028-01-01T00:00:00Z",
      "2029-01-01T00:00:00Z",
    ],
    [
      "an hour before 1970",
      "HOUR",
      "1969-12-31T23:59:59.999Z",
      "1969-12-31T23:00:00Z",
      "1970-01-01T00:00:00Z",
    ],
    [
      "a day before 1970",
      "DAY",
      "1969-12-31T00:00:00.001Z",
      "1969-12-31T00:00:00Z",
      "1970-01-01T00:00:00Z",
    ],
    [
      "the week of the epoch",
      "WEEK",
      "1970-01-01T00:00:00Z",
      "1969-12-29T00:00:00Z",
      "1970-01-05T00:00:00Z",
    ],
    [
      "a month before 1970",
      "MONTH",
      "1969-12-31T23:59:59.999Z",
      "1969-12-01T00:00:00Z",
      "1970-01-01T00:00:00Z",
    ],
    [
      "a year before 1970",
      "YEAR",
      "1968-02-29T00:00:00Z",
      "1968-01-01T00:00:00Z",
      "1969-01-01T00:00:00Z",
    ],
    [
      "a year of two digits",
      "YEAR",
      "0050-06-01T00:00:00Z",
      "0050-01-01T00:00:00Z",
      "0051-01-01T00:00:00Z",
    ],
  ] as const)("is %s", (_, kind, instant, start, end) => {
    const ms = Date.parse(instant);
    expect(formatPeriodTime(periodStart(kind, ms))).toBe(start);
    expect(formatPeriodTime(periodEnd(kind, ms))).toBe(end);
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
