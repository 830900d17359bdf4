// Converting instants between milliseconds since the epoch and ISO 8601.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatInstant, formatPeriodTime, parseInstant } from "../../src/model/instant.ts";

describe("an instant", () => {
  it("is written with microseconds, a period's time without a fraction", () => {
    const ms = Date.parse("2026-07-09T19:29:43.492Z");
    expect(formatInstant(ms)).toBe("2026-07-09T19:29:43.492000Z");
    expect(formatPeriodTime(ms)).toBe("2026-07-09T19:29:43Z");
  });

  it("survives formatting and parsing", () => {
    fc.assert(
      fc.property(fc.integer({ min: -6e13, max: 2.5e14 }), (ms) => {
        expect(parseInstant(formatInstant(ms))).toBe(ms);
      }),
    );
  });
});

describe("reading a text", () => {
  it.each([
    ["a date is its midnight", "2026-10-01", "2026-10-01T00:00:00.000Z"],
    ["a leap day exists in a leap year", "2028-02-29", "2028-02-29T00:00:00.000Z"],
    ["no offset means UTC", "2026-10-01T12:34:56", "2026-10-01T12:34:56.000Z"],
    ["minutes are enough", "2026-10-01T12:34Z", "2026-10-01T12:34:00.000Z"],
    ["a space may stand for the T", "2026-10-01 12:34:56", "2026-10-01T12:34:56.000Z"],
    ["lower case is fine", "2026-10-01t12:34:56z", "2026-10-01T12:34:56.000Z"],
    ["one digit of a fraction", "2026-10-01T12:34:56.7Z", "2026-10-01T12:34:56.700Z"],
    ["microseconds are cut off", "2026-10-01T12:34:56.789999Z", "2026-10-01T12:34:56.789Z"],
    ["an offset ahead of UTC", "2026-10-01T01:00:00+02:00", "2026-09-30T23:00:00.000Z"],
    ["an offset behind UTC", "2026-10-01T23:30:00-0130", "2026-10-02T01:00:00.000Z"],
    ["an offset of hours", "2026-10-01 01:00:00.5+02", "2026-09-30T23:00:00.500Z"],
    ["a comma before the fraction", "2026-10-01T12:34:56,7Z", "2026-10-01T12:34:56.700Z"],
    ["an offset with half an hour", "2026-10-01T05:30:00+05:30", "2026-10-01T00:00:00.000Z"],
  ])("%s", (_, text, expected) => {
    expect(new Date(parseInstant(text) ?? NaN).toISOString()).toBe(expected);
  });

  it.each([
    ["nothing", ""],
    ["words", "yesterday"],
    ["a number", "1790000000000"],
    ["a day that the month does not have", "2026-02-30"],
    ["a leap day of a common year", "2026-02-29"],
    ["a month that does not exist", "2026-13-01"],
    ["a day zero", "2026-10-00"],
    ["hour 24", "2026-10-01T24:00:00Z"],
    ["minute 60", "2026-10-01T12:60:00Z"],
    ["second 60", "2026-10-01T12:34:60Z"],
    ["a year of five digits", "12026-10-01"],
    ["a date and something", "2026-10-01X"],
    ["white space around it", " 2026-10-01 "],
    ["an offset of 30 hours", "2026-10-01T12:00:00+30:00"],
    ["an offset of 75 minutes", "2026-10-01T12:00:00+01:75"],
    ["a basic format", "20261001T123456Z"],
  ])("refuses %s", (_, text) => {
    expect(parseInstant(text)).toBeUndefined();
  });
});
