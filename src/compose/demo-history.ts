// The history of the demo: weeks of simulated results, so that insights and charts have something
// to show from the start.
import { createInsights } from "../aggregator/insights.ts";
import { createInsightMetrics } from "../aggregator/metrics.ts";
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

const DAY_MS = 86_400_000;
/** Eight of them are whole. */
const WEEKS = 9;
/** Of a steady, a busy, a flaky, a recovering and a slow call, an hour apart. */
const SIZE = { seed: 1, calls: 5, locations: 3, frequency: 60 };
/** Of the whole weeks, so that the recovering call has time to recover. */
const TROUBLED_WEEK = 5;
/** Of the whole weeks too: 12 to 19 days before the history ends. */
const SLOW_RELEASE = 7;
/** A few milliseconds of work each, with half as long for everything else in between. */
const [BATCH, PAUSE] = [24, 0.5];

export interface HistoryOptions {
  readonly store: Store;
  readonly log: Logger;
  /** Holds this process's leases. */
  readonly holder: string;
  /** Of its first results, epoch milliseconds. */
  readonly from: number;
  readonly signal: AbortSignal;
}

/** Of the first results of a history that ends now. */
export const historyStart = (now: number): number => weeksUpTo(now, WEEKS).from;

/**
 * Fills the history up to now, in small pieces beside the service, and computes its insights.
 * Rejects with the signal's reason; doing it again completes it.
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
  const fill = { ...simulationOn({ log }), store, plan, actor: "demo", signal };
  for (const part of partsOf(from, weeksUpTo(await store.now(), 0).until))
    await fillStore({ ...fill, ...part, batch: BATCH, pause: PAUSE });
  // The service would, within a minute.
  const metrics = createInsightMetrics(new Registry());
  await createInsights({ store, log, holder, metrics, clock: systemClock }).run(signal);
}

/** The last day first, then week by week: that is what a newcomer looks at meanwhile. */
function* partsOf(from: number, until: number): Generator<Pick<FillOptions, "from" | "until">> {
  yield { from: Math.max(from, until - DAY_MS), until };
  for (let end = until; end > from; end -= 7 * DAY_MS)
    yield { from: Math.max(from, end - 7 * DAY_MS), until: end };
}
