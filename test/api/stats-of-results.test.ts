// Compares every kind, type and location of statistics with the results that the API lists.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PERIOD_KINDS, periodStart } from "../../src/model/periods.ts";
import { MADE_CODES, RESULT_CODES } from "../../src/model/result.ts";
import type { Result } from "../../src/model/result.ts";
import { STAT_TYPES } from "../../src/model/stat.ts";
import { PHASES } from "../../src/model/timing.ts";
import { createCall, startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { aReport, aRun } from "../support/runs.ts";

/** Instants on both sides of calendar boundaries. */
const TIMES = [
  "2026-12-27T23:59:59.999Z", // Sunday, then ISO week 53
  "2026-12-28T00:00:00.000Z",
  "2026-12-31T23:59:59.999Z",
  "2027-01-01T00:00:00.000Z",
  "2027-01-04T00:00:00.000Z",
  "2027-02-28T23:59:59.999Z", // a February of 28 days
  "2027-03-01T00:00:00.000Z",
  "2027-04-30T23:59:59.999Z",
  "2027-05-01T00:00:00.000Z",
  "2027-10-31T01:30:00.000Z", // when clocks are set back
  "2027-10-31T02:00:00.000Z",
  "2028-02-28T12:00:00.000Z",
  "2028-02-29T00:00:00.000Z", // the leap day
  "2028-02-29T23:59:59.999Z",
  "2028-03-01T00:00:00.000Z",
].map((text) => Date.parse(text));
const LOCATIONS = ["local", "far"];

interface Stats {
  readonly stats: readonly Readonly<Record<string, unknown>>[];
}

describe("statistics of a call", () => {
  let api: TestApi;
  let id: string;
  let results: readonly Result[];
  beforeAll(async () => {
    api = await startApi();
    ({ id } = await createCall(api));
    // The first codes occur more often, and some periods lack some codes.
    const runs = TIMES.flatMap((due_time, at) =>
      Array.from({ length: 7 }, (_, n) => ({
        run: aRun({ due_time, target_id: id, location_id: LOCATIONS[(at + n) % 2]! }),
        result: RESULT_CODES[(n * (at + 1)) % RESULT_CODES.length]!,
        total: 20 + ((at * 37 + n * 61) % 230),
        timing: { tcp: n % 3 === 0 ? null : at + n / 8 },
      })),
    );
    await api.store.pendingRuns.insert(runs.map(({ run }) => run));
    for (let at = 0; at < 10; at += 1)
      await api.store.results.record(
        runs.filter((_, n) => n % 10 === at).map(({ run, ...outcome }) => aReport(run, outcome)),
      );
    results = await api.store.results.listOfCall(id, { after: "", limit: 1000 });
    expect(results).toHaveLength(7 * TIMES.length);
  });
  afterAll(() => api[Symbol.asyncDispose]());

  it.each(PERIOD_KINDS)(
    "by %s are those of its results, for every type and location",
    async (kind) => {
      for (const type of STAT_TYPES)
        for (const location of locationsFor(type)) {
          const there = results.filter(({ meta }) =>
            ["__ALL__", meta.location_id].includes(location),
          );
          const byPeriod = Map.groupBy(there, (each) => periodStart(kind, timeOf(each)));
          const expected = [...byPeriod]
            .toSorted(([a], [b]) => a - b)
            .map(([time, some]) => ({
              time,
              stat: statOf(time, some, type),
              adv: advancedOf(some, type),
            }));
          const of = `kind=${kind}&type=${type}&location_id=${location}`;
          const listed = expected.flatMap(({ stat, adv }) =>
            stat ? [{ ...stat, adv_stat: adv }] : [],
          );
          const since = await api.send<Stats>({
            path: `/calls/${id}/stats/since?${of}&time=2026-12-01`,
          });
          expectAlike(since.body.stats, listed, `since ${of}`);
          const before = await api.send<Stats>({
            path: `/calls/${id}/stats/before?${of}&time=2028-03-02`,
          });
          expectAlike(before.body.stats, listed.toReversed(), `before ${of}`);
          for (const { time, stat, adv } of expected.slice(-1)) {
            const path = `/calls/${id}/stats/?${of}&time=${new Date(time + 1).toISOString()}`;
            const { body } = await api.send<Readonly<Record<string, unknown>>>({ path });
            expectAlike([body["stat"], body["adv_stat"]], [stat, adv], path);
          }
        }
    },
  );
});

/** No result has a reserved code, so all locations are alike. */
const locationsFor = (type: string): readonly string[] =>
  type === "ALL" || RESULT_CODES.some((code) => code === type)
    ? ["__ALL__", ...LOCATIONS]
    : ["__ALL__"];

const timeOf = ({ meta }: Result): number => Date.parse(meta.start_time ?? meta.due_time);

const ofType = (results: readonly Result[], type: string): Result[] =>
  results.filter(({ meta }) =>
    type === "ALL" ? MADE_CODES.includes(meta.result) : meta.result === type,
  );

const latenciesOf = (results: readonly Result[]): number[] =>
  results.flatMap(({ timing }) => timing.total ?? []).toSorted((a, b) => a - b);

/** Null if there are no such results. */
function statOf(time: number, all: readonly Result[], type: string): object | null {
  const results = ofType(all, type);
  if (results.length === 0) return null;
  const latencies = latenciesOf(results);
  const mean = average(latencies);
  const stat = {
    time: new Date(time).toISOString().replace(".000", ""),
    count: results.length,
    max_latency: latencies.at(-1) ?? null,
    avg_latency: mean,
  };
  if (type !== "COMPLETE") return stat;
  const moment = (power: number): number =>
    average(latencies.map((latency) => (latency - (mean ?? 0)) ** power)) ?? 0;
  const deviation = Math.sqrt(moment(2));
  return {
    ...stat,
    min_latency: latencies[0] ?? null,
    standard_deviation: deviation,
    skewness: deviation === 0 ? 0 : moment(3) / deviation ** 3,
  };
}

function advancedOf(all: readonly Result[], type: string): object | null {
  const [made, missed] = [ofType(all, "ALL"), ofType(all, "MISSED")];
  if (made.length === 0 && missed.length === 0) return null;
  // Percentiles are exact below 256 ms.
  const latencies = latenciesOf(ofType(all, type));
  const at = (percentile: number): number | null =>
    latencies[Math.max(1, Math.ceil((percentile * latencies.length) / 100)) - 1] ?? null;
  const passed = made.filter(({ meta }) => meta.result_category === "PASS");
  const measured = ofType(all, type).filter(({ meta }) => meta.result_category !== null);
  return {
    p50: at(50),
    p75: at(75),
    p90: at(90),
    p95: at(95),
    p99: at(99),
    missed: missed.length,
    pass_percent: made.length === 0 ? null : (100 * passed.length) / made.length,
    phases: Object.fromEntries(
      PHASES.map((phase) => [
        phase,
        average(measured.flatMap(({ timing }) => timing[phase] ?? [])),
      ]),
    ),
  };
}

const average = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;

/** Expects equality, except for the last digits of numbers. */
const expectAlike = (actual: unknown, expected: unknown, what: string): void =>
  expect(actual, what).toEqual(nearly(expected));

const nearly = (value: unknown): unknown => {
  if (typeof value === "number")
    return expect.closeTo(
      value,
      8 - Math.ceil(Math.log10(Math.max(1, Math.abs(value)))),
    ) as unknown;
  if (Array.isArray(value)) return value.map(nearly);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, nearly(each)]));
};
