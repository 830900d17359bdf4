// Compares the numbers in reports with those computed from the list of results by definition.
import {
  assert,
  asyncProperty,
  constantFrom,
  integer,
  nat,
  record as object,
  array,
} from "fast-check";
import { describe, expect, it } from "vitest";
import { computeInsight } from "../../src/aggregator/compute-insight.ts";
import { categoryOf } from "../../src/model/result.ts";
import type { ResultCode } from "../../src/model/result.ts";
import { periodEnd } from "../../src/model/periods.ts";
import type { Store } from "../../src/store/store.ts";
import { storeKinds } from "../support/stores.ts";
import {
  DAY,
  every,
  HOUR,
  insertCall,
  MINUTE,
  MONDAY,
  record,
  reportsOf,
  startInsights,
} from "./computing.ts";
import { expectedReport } from "./expected-report.ts";

const NOW = MONDAY + 45 * DAY;
const WEIGHTED: readonly ResultCode[] = [
  ...Array.from({ length: 12 }, () => "COMPLETE" as const),
  "HTTP_SERVER_ERROR",
  "HTTP_CLIENT_ERROR",
  "CONNECTION_ERROR",
  "MISSED",
  "AGENT_ERROR",
];

/** In microseconds: most within a tenth of a second, some on the edge of a millisecond. */
const Total = nat(3_000_000).map((n) =>
  n % 20 === 0 ? n : n % 3 === 0 ? (n % 100) * 500 : n % 90_000,
);

const Ran = object({
  minute: nat(20 * 1440),
  call: constantFrom("call", "other"),
  location_id: constantFrom("local", "paris"),
  result: constantFrom(...WEIGHTED),
  total: Total.map((us) => us / 1000),
  uncertainty: integer({ min: 0, max: 40_000 }).map((us) => us / 1000),
});

type Limits = Partial<Store["insights"]["atOnce"]>;

/** Returns a store with these limits, and the number of results in each piece that it counts. */
function readingInPieces(store: Store, limits: Limits) {
  const pieces: number[] = [];
  const latencies: typeof store.insights.latencies = async (range) => {
    const found = await store.insights.latencies(range);
    pieces.push(found.reduce((sum, { count }) => sum + count, 0));
    return found;
  };
  const atOnce = { ...store.insights.atOnce, ...limits };
  return { pieces, watched: { ...store, insights: { ...store.insights, latencies, atOnce } } };
}

describe.each(storeKinds)("the numbers of insights in %s", (kind) => {
  it("match the definition, whatever was recorded", async () => {
    await assert(
      asyncProperty(array(Ran, { minLength: 60, maxLength: 200 }), async (ran) => {
        await using insights = await startInsights(kind, NOW);
        const { store } = insights;
        await insertCall(store, "other");
        const outcomes = ran.map(({ minute, uncertainty, ...rest }) => ({
          ...rest,
          due: MONDAY + minute * MINUTE,
          timing: { uncertainty },
        }));
        await record(store, outcomes);
        await insights.run();
        for (const call of ["call", "other"])
          for (const report of await reportsOf(store, NOW, call)) {
            const end = periodEnd(report.kind, report.start);
            const made = outcomes
              .filter((each) => each.call === call && each.due >= report.start && each.due < end)
              .filter(({ result }) => categoryOf(result) !== null)
              .map(({ location_id, result, total, timing }) => ({
                location: location_id,
                passed: result === "COMPLETE",
                total,
                uncertainty: timing.uncertainty,
              }));
            const { score, made: count, passed, outliers, ...numbers } = expectedReport(made);
            expect(report).toMatchObject({ score, made: count, passed, outliers });
            for (const [name, value] of Object.entries(numbers))
              expect(report[name as keyof typeof numbers], name).toBeCloseTo(value, 9);
          }
      }),
      { numRuns: kind === "sqlite" ? 6 : 3, endOnFailure: true },
    );
  });

  it("count each result once when many are read in pieces", async () => {
    await using insights = await startInsights(kind, MONDAY + 8 * DAY);
    const { store } = insights;
    const totals = Array.from({ length: 5040 }, (_, n) => (n % 7 === 0 ? 900 : 100 + (n % 5)));
    const called = totals.map((total, n) => ({ due: MONDAY + n * 20_000, total }));
    for (let n = 0; n < called.length; n += 1000) await record(store, called.slice(n, n + 1000));
    await insights.run();
    const [week] = await reportsOf(store, MONDAY);
    const made = totals.map((total) => ({
      location: "local",
      passed: true,
      total,
      uncertainty: 0,
    }));
    const { score, passed, outliers } = expectedReport(made);
    expect(week).toMatchObject({ made: 5040, score, passed, outliers });
    expect(outliers).toBe(720);
    expect(week?.details.outliers).toHaveLength(20);

    const { watched, pieces } = readingInPieces(store, { counted: 4000 });
    await computeInsight(watched, { call_id: "call", kind: "WEEK", start: MONDAY });
    expect(pieces).toEqual([3960, 1080]);
  });

  it("have the worst hours of a whole month that is read by days", async () => {
    await using insights = await startInsights(kind, MONDAY + 31 * DAY);
    const { store } = insights;
    await record(store, every(MONDAY, 30 * 24, HOUR));
    const worst = MONDAY + 15 * DAY + 10 * HOUR;
    await record(store, every(worst + MINUTE, 20, MINUTE, { result: "HTTP_SERVER_ERROR" }));

    const { watched, pieces } = readingInPieces(store, { counted: 200, searched: 100 });
    const month = await computeInsight(watched, { call_id: "call", kind: "MONTH", start: MONDAY });
    expect(month).toMatchObject({ made: 740, passed: 720 });
    const worstHours = typeof month === "string" ? [] : month.details.worst_hours;
    expect(worstHours[0]).toMatchObject({ time: worst, made: 21, passed: 1 });
    expect(pieces).toEqual([200, 200, 200, 140]);
  });

  it("come with the details that explain them", async () => {
    await using insights = await startInsights(kind, MONDAY + 8 * DAY);
    const { store } = insights;
    const paris = { location_id: "paris" } as const;
    await record(store, [
      ...every(MONDAY, 40, HOUR, { total: 100 }),
      { due: MONDAY + 2 * HOUR + 1, total: 900 },
      { due: MONDAY + 3 * HOUR + 1, total: 950, timing: { uncertainty: 500 } },
      { due: MONDAY + 5 * HOUR + 1, total: 50, result: "HTTP_SERVER_ERROR" },
      { due: MONDAY + 6 * HOUR + 1, total: 50, result: "HTTP_SERVER_ERROR" },
      { due: MONDAY + 6 * HOUR + 2, total: 50, result: "CONNECTION_ERROR" },
      { due: MONDAY + 60 * HOUR, result: "MISSED" },
      ...every(MONDAY + 50 * HOUR, 2, MINUTE, { ...paris, result: "CONNECTION_ERROR" }),
    ]);
    await insights.run();
    const [week] = await reportsOf(store, MONDAY);
    const { details, ...report } = week!;
    expect(report).toMatchObject({ made: 47, passed: 42, outliers: 1 });
    expect(details).toMatchObject({
      missed: 1,
      percentiles: { p50: 100, p75: 100, p90: 100 },
      phases: { dns: null, tcp: 1.5, processing: 20 },
      failures: [
        { result: "CONNECTION_ERROR", count: 3 },
        { result: "HTTP_SERVER_ERROR", count: 2 },
        { result: "MISSED", count: 1 },
      ],
      locations: [
        { location_id: "local", made: 45, passed: 42, outliers: 1, q1: 100, outlier_from: 110 },
        { location_id: "paris", made: 2, passed: 0, pass_percent: 0, mean_test_length: 0 },
      ],
      outliers: [{ time: MONDAY + 2 * HOUR + 1, location_id: "local", latency: 900 }],
    });
    expect(details.locations[0]?.pass_percent).toBeCloseTo((100 * 42) / 45, 9);
    expect(details.worst_hours).toEqual([
      { time: MONDAY + 50 * HOUR, made: 2, passed: 0, mean_test_length: null },
      { time: MONDAY + 6 * HOUR, made: 3, passed: 1, mean_test_length: 100 },
      { time: MONDAY + 5 * HOUR, made: 2, passed: 1, mean_test_length: 100 },
      { time: MONDAY + 3 * HOUR, made: 2, passed: 2, mean_test_length: 525 },
      { time: MONDAY + 2 * HOUR, made: 2, passed: 2, mean_test_length: 500 },
    ]);
    const [slowest] = await store.results.getMany(details.outliers.map((each) => each.result_id));
    expect(slowest?.timing.total).toBe(900);
  });
});
