// A report that the database rejects does not hold up the others of its batch, on both databases.
import { expect, it } from "vitest";
import { createAggregatorMetrics } from "../../src/aggregator/metrics.ts";
import { recordResults } from "../../src/aggregator/record-results.ts";
import type { RunReport } from "../../src/model/result.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { Registry } from "../../src/runtime/metrics.ts";
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
  const { values } = await metrics.results.get();
  const counts = Object.fromEntries(values.map(({ labels, value }) => [labels.outcome, value]));
  expect(counts).toMatchObject({ recorded: 17, unusable: 3 });
  for (const n of bad) expect(await store.pendingRuns.get(ids[n] ?? "")).toBeDefined();
});
