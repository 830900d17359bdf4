// The histogram of a call on both databases: it equals a recount of the single results, and the
// score names the same outliers.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Histogram } from "../../src/model/histogram.ts";
import { createCall, startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { aReport, aRun, T0 } from "../support/runs.ts";
import { scoreOf } from "../support/score.ts";
import { storeKinds } from "../support/stores.ts";

const DAY = 86_400_000;
const LOCATIONS = ["far", "local"];

/** Exact below 256 ms; some are far beyond that, and some failed. */
const SAMPLES = Array.from({ length: 160 }, (_, n) => ({
  location_id: LOCATIONS[n % 2] as string,
  day: Math.floor(n / 40),
  latency: n % 31 === 0 ? 900 + n : 40 + ((n * 7) % 90),
  result: n % 13 === 0 ? ("HTTP_SERVER_ERROR" as const) : ("COMPLETE" as const),
}));
type Sample = (typeof SAMPLES)[number];

interface Answer extends Histogram {
  readonly meta: Readonly<Record<string, string>>;
}

describe.each(storeKinds)("the histogram of a call on %s", (storeKind) => {
  let api: TestApi;
  let id: string;
  beforeAll(async () => {
    api = await startApi({ storeKind, clock: createManualClock(T0 + 3 * DAY) });
    ({ id } = await createCall(api));
    const runs = SAMPLES.map(({ location_id, day, latency, result }, n) => ({
      run: aRun({ target_id: id, location_id, due_time: T0 + day * DAY + n * 1000 }),
      outcome: { total: latency, result },
    }));
    await api.store.pendingRuns.insert(runs.map(({ run }) => run));
    await api.store.results.record(runs.map(({ run, outcome }) => aReport(run, outcome)));
    const missed = aRun({ target_id: id, location_id: "far", due_time: T0 });
    await api.store.pendingRuns.insert([missed]);
    await api.store.results.recordUnreported([{ run: missed, result: "MISSED", message: "late" }]);
  });
  afterAll(() => api[Symbol.asyncDispose]());

  const get = (query: string) => api.send<Answer>({ path: `/calls/${id}/histogram/?${query}` });

  it.each<[what: string, query: string, of: (sample: Sample) => boolean]>([
    ["today by default", "", ({ day }) => day === 3],
    ["a day", "time=2026-10-02", ({ day }) => day === 1],
    ["days", "time=2026-10-01&until=2026-10-03", ({ day }) => day <= 2],
    ["today, given only where it ends", "until=2026-10-04", ({ day }) => day === 3],
    [
      "a month that ends before its time",
      "kind=MONTH&time=2026-10-28&until=2026-10-01",
      () => true,
    ],
    ["a year", "kind=YEAR", () => true],
    ["a week, over its edge", "kind=WEEK&time=2026-10-05", () => false],
    ["a location", "kind=MONTH&location_id=far", ({ location_id }) => location_id === "far"],
    ["a type", "kind=MONTH&type=HTTP_SERVER_ERROR", ({ result }) => result === "HTTP_SERVER_ERROR"],
  ])("counts the results of %s", async (_, query, of) => {
    const { status, body } = await get(query);
    expect(status).toBe(200);
    const latencies = SAMPLES.filter(of).map(({ latency }) => latency);
    expect(body.count).toBe(latencies.length);
    const buckets = body.buckets ?? [];
    for (const { from, to, count } of buckets)
      expect(latencies.filter((latency) => latency >= from && latency < to)).toHaveLength(count);
    expect(buckets, "ascending").toEqual(buckets.toSorted((a, b) => a.from - b.from));
    expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(latencies.length);
    expect(buckets.every(({ from, to }) => to - from <= Math.max(1, from / 100))).toBe(true);
  });

  it("has for each location where the outliers of its score begin", async () => {
    const { body } = await get("kind=YEAR");
    const passed = SAMPLES.filter(({ result }) => result === "COMPLETE");
    const { locations } = scoreOf(
      SAMPLES.length,
      LOCATIONS.map((location_id) => ({
        location_id,
        passed: passed
          .filter((sample) => sample.location_id === location_id)
          .map(({ latency }) => ({ latency, count: 1, uncertain: 0 })),
      })),
    );
    expect(body.locations).toEqual(
      locations.map(({ location_id, passed: those, q1, median, q3, outlier_from, outliers }) => ({
        location_id,
        made: SAMPLES.length / LOCATIONS.length,
        passed: those,
        q1,
        median,
        q3,
        outlier_from,
        outliers,
      })),
    );
    expect(body.locations.some(({ outliers }) => (outliers ?? 0) > 0)).toBe(true);
  });

  it("counts every result, and a location where no call passed", async () => {
    const { body } = await get("kind=YEAR&type=COMPLETE");
    const failed = SAMPLES.filter(({ result }) => result !== "COMPLETE").length;
    expect(body.results).toEqual([
      { result: "COMPLETE", count: SAMPLES.length - failed },
      { result: "HTTP_SERVER_ERROR", count: failed },
      { result: "MISSED", count: 1 },
    ]);
    const other = await createCall(api);
    const results = ["HTTP_SERVER_ERROR", "CONNECTION_ERROR", "CONNECTION_ERROR"] as const;
    const runs = results.map((_, n) =>
      aRun({ target_id: other.id, location_id: "far", due_time: T0 + n }),
    );
    await api.store.pendingRuns.insert(runs);
    await api.store.results.record(runs.map((run, n) => aReport(run, { result: results[n] })));
    const answer = await api.send<Answer>({ path: `/calls/${other.id}/histogram/?kind=YEAR` });
    expect(answer.body.locations).toMatchObject([
      { location_id: "far", made: 3, passed: 0, median: null, outlier_from: null, outliers: 0 },
    ]);
    expect(answer.body.results, "the most frequent first").toEqual([
      { result: "CONNECTION_ERROR", count: 2 },
      { result: "HTTP_SERVER_ERROR", count: 1 },
    ]);
  });

  it("has no outliers to count where retention has removed the counters", async () => {
    const { id: old } = await createCall(api);
    const run = aRun({ target_id: old, location_id: "far", due_time: T0 - 700 * DAY });
    await api.store.pendingRuns.insert([run]);
    await api.store.results.record([aReport(run)]);
    const kept = { details: 0, raw: 0, hours: T0 - 300 * DAY, audit: 0 };
    await api.store.retention.remove("percentiles", { kept, after: undefined, limit: 10 });
    const { body } = await api.send<Answer>({
      path: `/calls/${old}/histogram/?time=${new Date(run.due_time).toISOString()}`,
    });
    expect(body).toMatchObject({ count: 1, buckets: null });
    const none = { q1: null, median: null, q3: null, outlier_from: null, outliers: null };
    expect(body.locations).toEqual([{ location_id: "far", made: 1, passed: 1, ...none }]);
  });

  it("counts runs without a call, which have no latency", async () => {
    const { body } = await get("kind=MONTH&type=MISSED");
    expect(body).toMatchObject({ count: 1, buckets: [] });
  });

  it("names its periods, and refuses too many of them", async () => {
    const { meta } = (await get("time=2026-10-01T13:00:00Z&until=2026-10-02")).body;
    expect(meta).toMatchObject({ time: "2026-10-01T00:00:00Z", until: "2026-10-03T00:00:00Z" });
    expect((await get("time=2026-10-02&until=2026-10-01")).body).toMatchObject({
      error: 400,
      error_msg:
        "until: '2026-10-01T00:00:00.000000Z' is earlier than time: '2026-10-02T00:00:00.000000Z'",
    });
    const last = (await get("time=9999-12-31")).body.meta;
    expect(last).toMatchObject({ time: "9999-12-31T00:00:00Z", until: "9999-12-31T23:59:59Z" });
    const many = await get("kind=HOUR&time=2026-01-01");
    expect(many.status).toBe(200);
    expect((await get("kind=HOUR&time=2026-01-01&until=2026-10-01")).body).toMatchObject({
      error: 400,
      error_msg: expect.stringMatching(/400 periods of kind HOUR.*use a longer kind/) as string,
    });
  });
});
