// Compares statistics with the results behind them, recomputed with integers of any size.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseInstant } from "../../src/model/instant.ts";
import { PERIOD_KINDS, periodStart } from "../../src/model/periods.ts";
import { categoryOf } from "../../src/model/result.ts";
import type { Result, ResultCode, RunReport } from "../../src/model/result.ts";
import { advancedStatOf, STAT_TYPES, statOf } from "../../src/model/stat.ts";
import { percentiles, skewness, standardDeviation } from "../../src/model/summary.ts";
import type { Summary } from "../../src/model/summary.ts";
import { PHASES } from "../../src/model/timing.ts";
import { newId } from "../../src/runtime/ids.ts";
import type { PendingRun } from "../../src/store/records.ts";
import { aReport, aRun } from "../support/runs.ts";
import { sharedStore, storeKinds } from "../support/stores.ts";

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
/** Near the end of a leap day, and of a month and week 53. */
const STARTS = [Date.UTC(2028, 1, 29, 23, 30), Date.UTC(2026, 11, 31, 23, 30)];

/** One run, and what happens to its result on the way to the store. */
const anyRun = fc.record({
  start: fc.constantFrom(...STARTS),
  // At the boundaries, and next to them.
  offset: fc.constantFrom(0, 30 * MINUTE - 1, 30 * MINUTE, 2 * HOUR, 3 * DAY, 4 * DAY, 40 * DAY),
  location_id: fc.constantFrom("local", "far"),
  result: fc.constantFrom<ResultCode>(
    "COMPLETE",
    "COMPLETE",
    "COMPLETE",
    "HTTP_SERVER_ERROR",
    "AGENT_ERROR",
    "MISSED",
  ),
  latency: fc.oneof(
    fc.integer({ min: 0, max: 120_000 }),
    fc.constantFrom(0, 1, 333, 333, 3_600_000, 3_599_999),
  ),
  dns: fc.option(fc.integer({ min: 0, max: 5_000_000 })),
  missedFirst: fc.boolean(),
  startsLate: fc.constantFrom(0, 0, 5 * MINUTE, 7 * HOUR),
  // The order of the deliveries, and of a repeated one.
  order: fc.nat(),
  again: fc.option(fc.nat()),
});
const anyHistory = fc.record({
  runs: fc.array(anyRun, { minLength: 1, maxLength: 24 }),
  batch: fc.integer({ min: 1, max: 8 }),
  /** Whether each transaction fails after recording, in turn. */
  crashes: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
});
type Run = typeof anyRun extends fc.Arbitrary<infer T> ? T : never;
type History = typeof anyHistory extends fc.Arbitrary<infer T> ? T : never;

describe.each(storeKinds)("statistics on %s", (kind) => {
  const { store } = sharedStore(kind);

  it("match the results, whatever the order, batches, duplicates, late results and crashes", async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, async (history) => {
        const call = newId(STARTS[0]!);
        await replay(call, history);
        const results = await store.results.listOfCall(call, { after: "", limit: 1000 });
        expect(results).toHaveLength(history.runs.length);
        for (const location of [null, "local", "far"]) await expectRight(call, results, location);
      }),
      { numRuns: kind === "sqlite" ? 25 : 8 },
    );
  });

  async function replay(call: string, { runs, batch, crashes }: History): Promise<void> {
    const ordered = runs.map(({ start, offset, location_id }) =>
      aRun({ target_id: call, due_time: start + offset, location_id }),
    );
    await store.pendingRuns.insert(ordered);
    const missed = ordered.filter((_, n) => runs[n]!.missedFirst);
    await store.results.recordUnreported(
      missed.map((run) => ({ run, result: "MISSED", message: "late" }) as const),
    );
    const deliveries = runs
      .flatMap((run, n) => {
        const report = reportOf(ordered[n]!, run);
        return [run.order, run.again].flatMap((order) => (order === null ? [] : { order, report }));
      })
      .toSorted((a, b) => a.order - b.order)
      .map(({ report }) => report);
    for (let at = 0; at < deliveries.length; at += batch)
      await deliver(deliveries.slice(at, at + batch), crashes[at % crashes.length]!);
  }

  async function deliver(reports: readonly RunReport[], crash: boolean): Promise<void> {
    if (crash)
      await expect(
        store.transaction(async (within) => {
          await within.results.record(reports);
          throw new Error("crash");
        }),
      ).rejects.toThrow("crash");
    await store.results.record(reports);
  }

  async function expectRight(
    call_id: string,
    results: readonly Result[],
    location_id: string | null,
  ): Promise<void> {
    const there = results.filter(({ meta }) => [null, meta.location_id].includes(location_id));
    for (const kind of PERIOD_KINDS)
      for (const [time, ofPeriod] of Map.groupBy(there, (each) =>
        periodStart(kind, timeOf(each)),
      )) {
        const stored = await store.stats.period({ call_id, kind, location_id }, time);
        const byCode = Map.groupBy(ofPeriod, ({ meta }) => meta.result);
        expect([...stored.keys()].toSorted()).toEqual([...byCode.keys()].toSorted());
        for (const [code, ofCode] of byCode) expectSummary(stored.get(code)!, ofCode);
        for (const type of STAT_TYPES)
          expectNumbers([statOf(stored, type, time), advancedStatOf(stored, type)]);
      }
  }
});

const reportOf = (run: PendingRun, { result, latency, dns, startsLate }: Run): RunReport =>
  aReport(run, {
    result,
    total: latency + 0.25,
    start: run.due_time + startsLate,
    timing: { dns: dns === null ? null : dns / 1000 },
  });

const timeOf = ({ meta }: Result): number => parseInstant(meta.start_time ?? meta.due_time)!;

/** A result without a call counts, but has neither latency nor phases. */
function expectSummary(stored: Summary, results: readonly Result[]): void {
  expect(stored.count).toBe(results.length);
  const made = results.filter(({ meta }) => categoryOf(meta.result) !== null);
  const latencies = made.map(({ timing }) => Math.round(timing.total!)).toSorted((a, b) => a - b);
  expect([stored.min, stored.max]).toEqual([latencies[0] ?? 0, latencies.at(-1) ?? 0]);
  for (const phase of PHASES) {
    const reached = made.flatMap(({ timing }) => timing[phase] ?? []);
    const sum = reached.reduce((total, ms) => total + Math.round(ms * 1000), 0);
    expect(stored.phases[phase]).toEqual({ count: reached.length, sum });
  }
  if (latencies.length === 0) return;
  expectMoments(stored, latencies);
  for (const [at, percentile] of [50, 75, 90, 95, 99].entries()) {
    const exact = latencies[Math.max(1, Math.ceil((percentile * latencies.length) / 100)) - 1]!;
    const found = percentiles(stored, [50, 75, 90, 95, 99])[at]!;
    expect(found).toBeGreaterThanOrEqual(exact);
    expect(found).toBeLessThanOrEqual(exact * 1.01);
  }
}

/** Latencies are integers, so n³ times a moment is an integer too, and exact. */
function expectMoments(stored: Summary, latencies: readonly number[]): void {
  const values = latencies.map(BigInt);
  const sum = (power: bigint): bigint =>
    values.reduce((total, value) => total + value ** power, 0n);
  const [n, s1, s2, s3] = [BigInt(values.length), sum(1n), sum(2n), sum(3n)];
  const count = latencies.length;
  const mean = Number(s1) / count;
  const deviation = Math.sqrt(Number(n * s2 - s1 * s1)) / count;
  const third = Number(n * n * s3 - 3n * n * s1 * s2 + 2n * s1 ** 3n) / count ** 3;
  // Allows the mean a relative error of 1e-12, from rounding.
  const noise = 1e-12 * mean;
  expectNear(stored.mean, mean, 1e-9 * mean);
  expectNear(standardDeviation(stored), deviation, 1e-9 * deviation + noise);
  const lean = deviation === 0 ? 0 : third / deviation ** 3;
  const unsure = deviation === 0 ? 0 : (6 * noise) / deviation;
  expectNear(
    skewness(stored),
    lean,
    1e-9 * Math.max(1, Math.abs(lean)) + unsure * (1 + Math.abs(lean)),
  );
}

const expectNear = (actual: number, expected: number, tolerance: number): void =>
  expect(Math.abs(actual - expected), `${actual} is not ${expected}`).toBeLessThanOrEqual(
    tolerance,
  );

/** A value that is not a number becomes null in JSON. */
function expectNumbers(value: unknown): void {
  if (typeof value === "number") expect(value).toSatisfy(Number.isFinite);
  else if (typeof value === "object" && value !== null) Object.values(value).forEach(expectNumbers);
}
