// The demo's history: weeks of simulated results, to fill insights and charts from the start.
import { createInsights } from "../aggregator/insights.ts";
import { createInsightMetrics } from "../aggregator/metrics.ts";
import { DAY_MS, WEEK_MS } from "../model/periods.ts";
import { slotOf } from "../model/slots.ts";
import { systemClock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import { Registry } from "../runtime/metrics.ts";
import { weekOf } from "../simulation/conditions.ts";
import { fillStore } from "../simulation/fill-store.ts";
import type { FillOptions } from "../simulation/fill-store.ts";
import { planOf } from "../simulation/plan.ts";
import type { Store } from "../store/store.ts";
import { FIRST_OWNER } from "./first-start.ts";
import { simulationOn, weeksUpTo } from "./simulation.ts";

/** Eight of them are whole calendar weeks. */
const WEEKS = 9;
/** A steady, a busy, a flaky, a recovering and a slow call, each run once an hour. */
const SIZE = { seed: 1, calls: 5, locations: 3, frequency: 60 };
/** Weeks from the start to the troubled one: early enough for the recovering call to recover. */
const TROUBLED_WEEK = 5;
/** Weeks from the start to the one with the slow release: 12 to 19 days before the history ends. */
const SLOW_RELEASE = 7;
/** Batches take a few milliseconds; the pause after each, half as long, is for everything else. */
const [BATCH, PAUSE] = [24, 0.5];

export interface HistoryOptions {
  readonly store: Store;
  readonly log: Logger;
  /** The name under which this process holds leases. */
  readonly holder: string;
  /** The time of its first results, epoch milliseconds. */
  readonly from: number;
  readonly signal: AbortSignal;
}

/** Returns the time of the first results in a history that ends now. */
export const historyStart = (now: number): number => weeksUpTo(now, WEEKS).from;

/**
 * Fills the history up to now, in small pieces while the service runs, and computes its insights.
 * Rejects with the signal's reason; calling it again completes the history.
 */
export async function fillHistory(options: HistoryOptions): Promise<void> {
  const { store, log, holder, from, signal } = options;
  const plan = planOf({
    ...SIZE,
    owner: FIRST_OWNER,
    owner_org: null,
    troubledWeek: weekOf(from) + TROUBLED_WEEK,
    slowRelease: weekOf(from) + SLOW_RELEASE,
  });
  const fill = { ...simulationOn(log), store, plan, actor: "demo", signal };
  for (const part of partsOf(from, slotOf(await store.now())))
    await fillStore({ ...fill, ...part, batch: BATCH, pause: PAUSE });
  // Otherwise the service would compute them up to a minute later.
  const metrics = createInsightMetrics(new Registry());
  await createInsights({ store, log, holder, metrics, clock: systemClock }).run(signal);
}

/** Yields the last day first, then week by week: a newcomer looks at that day meanwhile. */
function* partsOf(from: number, until: number): Generator<Pick<FillOptions, "from" | "until">> {
  yield { from: Math.max(from, until - DAY_MS), until };
  for (let end = until; end > from; end -= WEEK_MS)
    yield { from: Math.max(from, end - WEEK_MS), until: end };
}
