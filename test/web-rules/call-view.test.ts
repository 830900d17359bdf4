// How the page of a call reads its address, statistics and histograms.
import { describe, expect, it } from "vitest";
import { bucketOf, endOfBucket } from "../../src/model/summary.ts";
import { areEven, binsOf, countsFrom, placeOf, wholeFrom } from "../../web/src/pages/call/bins.ts";
import { toneOfDay } from "../../web/src/pages/call/day-tone.ts";
import { alignTo, sampleOfStat, withMissed, withTimesOf } from "../../web/src/pages/call/sample.ts";
import type { StatEntry } from "../../web/src/pages/call/sample.ts";
import { filterQuery, filtersOf, isFiltered } from "../../web/src/run-filters.ts";
import { grainOf, periodsIn, usualSpan, viewOf, zoomQuery } from "../../web/src/pages/call/view.ts";

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
const NOW = Date.UTC(2026, 10, 22, 14, 5, 30);

describe("the view of a call", () => {
  it("is the median of the last day by default", () => {
    const { range, ...view } = viewOf({}, NOW);
    expect(view).toEqual({
      span: "day",
      grain: "HOUR",
      measure: "p50",
      location: undefined,
      type: "COMPLETE",
    });
    expect(range).toEqual([Date.UTC(2026, 10, 21, 15), Date.UTC(2026, 10, 22, 15)]);
  });

  it("is the last hour while the first measurement is less than two hours old", () => {
    expect(usualSpan(NOW - 2 * HOUR + 1, NOW)).toBe("hour");
    expect(usualSpan(NOW - 2 * HOUR, NOW)).toBe("day");
    expect(usualSpan(undefined, NOW)).toBe("day");
    expect(viewOf({}, NOW, "hour")).toMatchObject({ span: "hour", grain: "RAW" });
    expect(viewOf({ range: "week" }, NOW, "hour").span).toBe("week");
  });

  it("reads the address, and ignores unknown values", () => {
    const query = { range: "year", measure: "p95", location: "far", calls: "all" };
    expect(viewOf(query, NOW)).toMatchObject({
      span: "year",
      grain: "WEEK",
      measure: "p95",
      location: "far",
      type: "ALL",
    });
    const wrong = { range: "constructor", measure: "p42", from: "x", to: "y", location: "" };
    expect(viewOf(wrong, NOW)).toEqual(viewOf({}, NOW));
  });

  it("keeps a zoomed range in the address", () => {
    const query = zoomQuery([NOW - 7 * HOUR, NOW - 5 * HOUR], NOW);
    expect(query).toEqual({
      range: undefined,
      from: "2026-11-22T07:05Z",
      to: "2026-11-22T09:06Z",
    });
    expect(viewOf(query, NOW)).toMatchObject({ span: undefined, grain: "HOUR" });
    expect(zoomQuery(undefined, NOW)).toEqual({ from: undefined, to: undefined });
  });

  it("never zooms into the future, nor to less than five minutes", () => {
    const { from, to } = zoomQuery([NOW, NOW + DAY], NOW);
    expect(to).toBe("2026-11-22T14:06Z");
    expect(Date.parse(to ?? "") - Date.parse(from ?? "")).toBe(5 * MINUTE);
  });

  it.each([
    [HOUR, "RAW"],
    [DAY, "HOUR"],
    [7 * DAY, "HOUR"],
    [30 * DAY, "DAY"],
    [365 * DAY, "WEEK"],
    [5 * 365 * DAY, "MONTH"],
  ] as const)("of %i ms is made of %s", (ms, grain) => {
    expect(grainOf([NOW - ms, NOW])).toBe(grain);
  });

  it("asks for as many periods as a range touches", () => {
    expect(periodsIn("HOUR", [NOW, NOW + MINUTE])).toBe(1);
    expect(periodsIn("DAY", [NOW - DAY, NOW])).toBe(2);
  });
});

const entry = (time: number, count: number, pass_percent: number | null): StatEntry => ({
  time: new Date(time).toISOString(),
  count,
  max_latency: 9,
  avg_latency: 5,
  adv_stat: {
    p50: 4,
    p75: 5,
    p90: 6,
    p95: 7,
    p99: 8,
    missed: 0,
    pass_percent,
    phases: { dns: 1, tcp: 1, handshake: null, upload: null, processing: 2, download: 0 },
  },
});

describe("samples", () => {
  it("have the requested measure, and the calls that did not pass", () => {
    const sample = sampleOfStat(entry(NOW, 72, (100 * 70) / 72), "p95");
    expect(sample).toMatchObject({ time: NOW, latency: 7, failed: 2 });
    expect(sampleOfStat(entry(NOW, 1, 100), "max").latency).toBe(9);
    expect(sampleOfStat(entry(NOW, 1, 100), "avg").latency).toBe(5);
  });

  it("combine the counts of all calls with the times of those that passed", () => {
    const every = [sampleOfStat(entry(0, 10, 0), "p50"), sampleOfStat(entry(DAY, 10, 50), "p50")];
    const passed = [{ ...sampleOfStat(entry(DAY, 5, 50), "p50"), latency: 3 }];
    expect(withTimesOf(every, passed)).toMatchObject([
      { time: 0, count: 10, failed: 10, latency: null },
      { time: DAY, count: 10, failed: 5, latency: 3 },
    ]);
  });

  it("show a period in which every run was missed", () => {
    const made = [sampleOfStat(entry(DAY, 1, 100), "p50")];
    const missed = [entry(0, 3, null), entry(DAY, 2, null)].map(({ time, count }) => ({
      time,
      count,
    }));
    const all = withMissed(made, missed);
    expect(all.map(({ time, count }) => [time, count])).toEqual([
      [0, 0],
      [DAY, 1],
    ]);
    expect(all[0]?.missed).toBe(3);
    expect(alignTo([0, DAY, 2 * DAY], made, ({ latency }) => latency)).toEqual([null, 4, null]);
  });
});

describe("bins", () => {
  const bucket = (from: number, count = 1) => ({ from, to: from + 1, count });

  it("hold every call once, in at most 40 bars", () => {
    for (const last of [20, 90, 400, 30_000]) {
      const buckets = [bucket(12, 5), bucket(13, 7), bucket(last, 2)];
      const bins = binsOf(buckets);
      expect(bins.length).toBeLessThanOrEqual(40);
      expect(bins.reduce((sum, { count }) => sum + count, 0)).toBe(14);
      for (const [at, bin] of bins.entries()) expect(bins[at + 1]?.from ?? bin.to).toBe(bin.to);
    }
    expect(binsOf([])).toEqual([]);
  });

  /** As histograms of Sonde have them: of 70 s, half a second wide. */
  const bucketWith = (latency: number) => {
    const from = bucketOf(latency);
    return { from, to: endOfBucket(from), count: 1 };
  };

  it.each([
    [[70_000], 1],
    [[300], 1],
    [[69_000, 70_000, 71_500], 6],
    [[600, 610, 803], 26],
    [[250, 700, 1100], 36],
  ])("of calls of %j ms are %i, as wide as whole buckets", (latencies, count) => {
    const buckets = latencies.map(bucketWith);
    const bins = binsOf(buckets);
    expect(bins.length).toBe(count);
    expect(areEven(bins)).toBe(true);
    for (const { from, to } of buckets)
      expect(bins.some((bin) => bin.from <= from && bin.to >= to)).toBe(true);
  });

  it("begin outliers with a whole bucket", () => {
    const buckets = [69_000, 70_000].map(bucketWith);
    expect([69_632, 69_642, 70_144].map((ms) => wholeFrom(ms, buckets))).toEqual([
      69_632, 70_144, 70_144,
    ]);
    expect(wholeFrom(90_001, buckets)).toBe(90_001);
  });

  it("count the slow calls in a bar that begins with faster ones", () => {
    const buckets = [bucket(12, 5), bucket(400, 2), bucket(410, 3), bucket(30_000)];
    const bins = [
      { from: 12, to: 300, count: 5 },
      { from: 300, to: 500, count: 5 },
      { from: 500, to: 30_001, count: 1 },
    ];
    expect(countsFrom(405, buckets, bins)).toEqual([0, 3, 1]);
  });

  it("tell where a latency lies", () => {
    const bins = [
      { from: 0, to: 10, count: 1 },
      { from: 10, to: 30, count: 1 },
    ];
    expect([5, 20, 99].map((ms) => placeOf(ms, bins))).toEqual([0.5, 1.5, 2]);
  });
});

describe("a day of the calendar", () => {
  it.each([
    ["pass", 10, 100, 0],
    ["warn", 100, 99, 0],
    ["fail", 100, 97.9, 3],
    ["missed", 10, 100, 1],
    ["missed", 0, null, 4],
    ["none", 0, null, 0],
  ] as const)(
    "is %s with %i calls, %d %% passed, %i missed",
    (tone, calls, passPercent, missed) => {
      expect(toneOfDay({ time: 0, calls, passPercent, missed })).toBe(tone);
    },
  );
});

describe("the filters of runs", () => {
  it("are read from the address as they were written, apart from the charts' settings", () => {
    const filters = {
      category: "FAIL",
      type: "HTTP_SERVER_ERROR",
      location_id: "paris",
      from: "2026-11-22T14:05:00.000Z",
      to: "",
    };
    const query = filterQuery(filters);
    expect(query).toEqual({
      run_category: "FAIL",
      run_result: "HTTP_SERVER_ERROR",
      run_location: "paris",
      run_from: "2026-11-22T14:05:00.000Z",
      run_to: "",
    });
    expect(filtersOf(query)).toEqual(filters);
    expect(isFiltered(filtersOf(query))).toBe(true);
  });

  it("are none for what is invalid", () => {
    const invalid = { run_category: "BAD", run_result: "toString", run_from: "soon", run_to: "" };
    const filters = filtersOf({ ...invalid, location: "paris", from: "2026-11-22T14:05Z" });
    expect(isFiltered(filters)).toBe(false);
  });
});
