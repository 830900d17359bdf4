import { describe, expect, it } from "vitest";
import { countedFrom, expiredIdsBefore, keptFrom, nextBatch } from "../../src/model/retention.ts";

const DAY = 86_400_000;
const now = Date.parse("2026-11-22T13:14:15.167Z");
const days = { details: 14, raw: 90, hours: 400, audit: 300 };

const datesOf = (kept: ReturnType<typeof keptFrom>) =>
  Object.fromEntries(
    Object.entries(kept).map(([kind, time]) => [kind, new Date(time).toISOString().slice(0, 16)]),
  );

describe("what is kept", () => {
  it.each([
    [
      "is younger than the setting of its kind, from midnight on",
      days,
      now,
      { details: "2026-11-08", raw: "2026-08-24", hours: "2025-10-18", audit: "2026-01-26" },
    ],
    [
      "is what insights still need, but for details",
      { details: 1, raw: 1, hours: 1, audit: 1 },
      Date.parse("2026-10-26T00:00:00Z"),
      { details: "2026-11-21", raw: "2026-10-26", hours: "2026-10-24", audit: "2026-11-21" },
    ],
    [
      "includes no detail without its result",
      { ...days, details: 90, raw: 14 },
      now,
      { details: "2026-11-08", raw: "2026-11-08", hours: "2025-10-18", audit: "2026-01-26" },
    ],
    [
      "is each hour that leads to a result",
      { ...days, raw: 90, hours: 30 },
      now,
      { details: "2026-11-08", raw: "2026-08-24", hours: "2026-08-22", audit: "2026-01-26" },
    ],
    [
      "is everything until the first insights",
      days,
      0,
      { details: "2026-11-08", raw: "1970-01-01", hours: "1970-01-01", audit: "2026-01-26" },
    ],
  ])("%s", (_, settings, needed, dates) => {
    const midnights = Object.entries(dates).map(([kind, date]) => [kind, `${date}T00:00`]);
    expect(datesOf(keptFrom(settings, now, needed))).toEqual(Object.fromEntries(midnights));
  });

  it("is never removed for an id up to two days older than its start", () => {
    expect(expiredIdsBefore(90 * DAY)).toBe(88 * DAY);
    expect(expiredIdsBefore(DAY)).toBe(0);
  });
});

describe("a batch", () => {
  it.each([
    ["begins small", 8, undefined, 100],
    ["grows to twice its size at most", 8, { rows: 100, ms: 0.01 }, 200],
    ["takes as long as is wanted, in a process", 8, { rows: 1000, ms: 10 }, 800],
    ["takes as long as is wanted, on a server", 100, { rows: 1000, ms: 80 }, 1250],
    ["shrinks to a quarter at most", 8, { rows: 1000, ms: 900 }, 250],
    ["has ten rows at least", 8, { rows: 10, ms: 900 }, 10],
    ["has 10,000 rows at most", 100, { rows: 8000, ms: 1 }, 10_000],
  ])("%s", (_, wantedMs, last, rows) => {
    expect(nextBatch(wantedMs, last)).toBe(rows);
  });
});

describe("the time that days are counted back from", () => {
  it("follows the clock, but limits jumps forward", () => {
    expect(countedFrom(now, null)).toBe(now);
    expect(countedFrom(now, now - DAY / 24)).toBe(now);
    expect(countedFrom(now + 365 * DAY, now)).toBe(now + DAY / 4);
    expect(countedFrom(now, now + 365 * DAY)).toBe(now);
  });
});
