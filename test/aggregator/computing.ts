// Shared by the tests of insights: results in a store, and engines that compute reports from them.
import { createInsights } from "../../src/aggregator/insights.ts";
import { createInsightMetrics } from "../../src/aggregator/metrics.ts";
import { INSIGHT_KINDS } from "../../src/model/insight.ts";
import type { Insight } from "../../src/model/insight.ts";
import { periodEnd, periodStart } from "../../src/model/periods.ts";
import { Registry } from "../../src/runtime/metrics.ts";
import { newId, scheduledRunId } from "../../src/runtime/ids.ts";
import type { PendingRun } from "../../src/store/records.ts";
import type { Store } from "../../src/store/store.ts";
import { captureLog } from "../runtime/log-lines.ts";
import { createManualClock } from "../support/manual-clock.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { aCall, aReport, aRun } from "../support/runs.ts";
import type { Outcome } from "../support/runs.ts";
import { createTestDatabase } from "../support/stores.ts";
import type { StoreKind } from "../support/stores.ts";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** A Monday, and the first of June. */
export const MONDAY = Date.UTC(2026, 5, 1);

export interface Called extends Outcome {
  readonly due: number;
  readonly call?: string;
}

/** Records runs with these outcomes; returns them. */
export async function record(store: Store, called: readonly Called[]): Promise<PendingRun[]> {
  const runs = called.map(({ due, call = "call", location_id = "local" }) =>
    aRun({
      result_id: scheduledRunId(due, newId(due)),
      due_time: due,
      target_id: call,
      location_id,
    }),
  );
  await store.pendingRuns.insert(runs);
  await store.results.record(runs.map((run, n) => aReport(run, called[n])));
  return runs;
}

/** Returns `count` calls from `from` on, one every `each` milliseconds. */
export const every = (
  from: number,
  count: number,
  each: number,
  outcome: Omit<Called, "due"> = {},
): Called[] => Array.from({ length: count }, (_, n) => ({ due: from + n * each, ...outcome }));

export const insertCall = (store: Store, id = "call", owner = "ann", owner_org?: string) =>
  store.documents.insert(aCall({ id, owner, owner_org: owner_org ?? null }));

export function engineOf(store: Store, clock: ManualClock, holder = "one") {
  const { log, lines } = captureLog();
  const metrics = createInsightMetrics(new Registry());
  const failing = async () => (await metrics.failing.get()).values[0]?.value;
  return { ...createInsights({ store, holder, clock, log, metrics }), lines, failing };
}

/** Opens a store at this time, with a call, and an engine on it. */
export async function startInsights(kind: StoreKind, now: number) {
  const database = await createTestDatabase(kind);
  const clock = createManualClock(now);
  const store = await database.open(clock);
  await insertCall(store);
  return {
    ...engineOf(store, clock),
    database,
    store,
    clock,
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

/** Returns every report of the call whose period has begun by `now`, from the first of May on. */
export async function reportsOf(store: Store, now: number, call_id = "call"): Promise<Insight[]> {
  const found: Insight[] = [];
  for (const kind of INSIGHT_KINDS)
    for (let start = periodStart(kind, MONDAY - 31 * DAY); start <= now;) {
      const insight = await store.insights.get({ call_id, kind, start });
      if (insight) found.push(insight);
      start = periodEnd(kind, start);
    }
  return found;
}

export const idsOf = (insights: readonly Insight[]): string[] =>
  insights.map(({ kind, start }) => `${kind} ${new Date(start).toISOString().slice(0, 10)}`);
