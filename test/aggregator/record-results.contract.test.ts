// A report that the database rejects does not hold up the others of its batch, on both databases.
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { createAggregatorMetrics } from "../../src/aggregator/metrics.ts";
import type { AggregatorMetrics } from "../../src/aggregator/metrics.ts";
import { recordResults } from "../../src/aggregator/record-results.ts";
import { DAY_MS } from "../../src/model/periods.ts";
import { runReportValidator } from "../../src/model/result.ts";
import type { Result, RunReport } from "../../src/model/result.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { Registry, renderMetrics } from "../../src/runtime/metrics.ts";
import { captureLog } from "../runtime/log-lines.ts";
import { aReport, aRun } from "../support/runs.ts";
import { createTestDatabase, storeKinds } from "../support/stores.ts";

/** No database stores a result without a number of redirects. */
const withoutRedirects = ({ results, ...report }: RunReport): RunReport => ({
  ...report,
  results: results.map(({ meta, ...result }) => ({
    ...result,
    meta: { ...meta, redirects: null as unknown as number },
  })),
});

async function countsOf({ results }: AggregatorMetrics): Promise<Record<string, number>> {
  const { values } = await results.get();
  return Object.fromEntries(values.map(({ labels, value }) => [labels.outcome, value]));
}

it.each(storeKinds)("records the others of its batch on %s", async (kind) => {
  await using database = await createTestDatabase(kind);
  const store = await database.open();
  const runs = Array.from({ length: 20 }, () => aRun({ due_time: systemClock.now() }));
  await store.pendingRuns.insert(runs);
  const bad = [0, 7, 19];
  const reports = runs.map((run, n) =>
    bad.includes(n) ? withoutRedirects(aReport(run)) : aReport(run),
  );
  const registry = new Registry();
  const metrics = createAggregatorMetrics(registry);
  const log = createLogger("silent");
  await recordResults({ store, clock: systemClock, log, metrics }, reports);

  const ids = runs.map(({ result_id }) => result_id);
  const recorded = await store.results.getMany(ids);
  expect(recorded.map(({ id }) => id)).toEqual(ids.filter((_, n) => !bad.includes(n)));
  expect(await countsOf(metrics)).toMatchObject({ recorded: 17, unusable: 3 });
  for (const n of bad) expect(await store.pendingRuns.get(ids[n] ?? "")).toBeDefined();
});

it.each(storeKinds)("counts each report by its outcome on %s", async (kind) => {
  await using database = await createTestDatabase(kind);
  const store = await database.open();
  const [run, missed, unknown] = [0, 1, 2].map((n) => aRun({ due_time: systemClock.now() + n }));
  await store.pendingRuns.insert([run!, missed!]);
  await store.results.recordUnreported([{ run: missed!, result: "MISSED", message: "lost" }]);
  const registry = new Registry();
  const metrics = createAggregatorMetrics(registry);
  const { log, lines } = captureLog();
  const options = { store, clock: systemClock, log, metrics };
  await recordResults(options, [aReport(unknown!)]);
  expect(lines().map(({ level, msg }) => [level, msg])).toEqual([
    ["warn", "reports dropped: they match no ordered run"],
  ]);
  const last = "sonde_aggregator_last_recorded_timestamp_seconds ";
  expect(await renderMetrics(registry, [])).not.toContain(`\n${last}`);
  const reports = [run!, missed!].map((each) => aReport(each));
  await recordResults(options, reports);
  await recordResults(options, reports.slice(0, 1));
  expect(await countsOf(metrics)).toEqual({ recorded: 1, late: 1, duplicate: 1, unknown: 1 });
  expect(await renderMetrics(registry, [])).toContain(`\n${last}`);
});

it.each(storeKinds)(
  "the largest numbers and names that a report may hold are read back on %s",
  async (kind) => {
    await using database = await createTestDatabase(kind);
    const store = await database.open();
    const run = aRun({ due_time: systemClock.now() });
    await store.pendingRuns.insert([run]);
    const { results, ...report } = aReport(run, { total: DAY_MS });
    const [result] = results as [Result];
    const meta = {
      ...result.meta,
      http_code: 999,
      request_size: Number.MAX_SAFE_INTEGER,
      response_size: Number.MAX_SAFE_INTEGER,
      redirects: 1000,
      domain: randomBytes(1300).toString("hex"),
      agent_id: "\u{1f600}".repeat(600),
    };
    const timing = { ...result.timing, tcp: DAY_MS, uncertainty: DAY_MS };
    const largest = { ...report, results: [{ ...result, meta, timing }] };
    expect(runReportValidator.faults(largest)).toEqual([]);
    expect(await store.results.record([largest])).toMatchObject({ recorded: 1 });
    expect(await store.results.get(run.result_id)).toMatchObject({ meta, timing });
  },
);
