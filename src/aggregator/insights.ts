// Computes the insights reports of closed weeks and months, and recomputes those whose results
// change later. One process works at a time, and continues where the previous one stopped.
import { isUnavailable } from "../model/errors.ts";
import { closedBetween, INSIGHT_DELAY_MS, INSIGHTS_LEASE, insightId } from "../model/insight.ts";
import type { InsightPeriod, StaleInsight } from "../model/insight.ts";
import { allDone } from "../runtime/all-done.ts";
import type { Clock } from "../runtime/clock.ts";
import { createCron } from "../runtime/cron.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Lease } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { settleInsight, yieldTurn } from "./compute-insight.ts";
import type { Settled } from "./compute-insight.ts";
import type { InsightMetrics } from "./metrics.ts";

export interface InsightsOptions {
  readonly store: Store;
  /** Identifies this process among those that compute insights. */
  readonly holder: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: InsightMetrics;
}

/** The lease is renewed between steps. */
const LEASE_TTL_MS = 120_000;
const REPORTS_A_STEP = 20;
const CALLS_A_STEP = 500;

/** How long to wait before retrying a report that could not be computed. */
const RETRY_MS = 3_600_000;

export function createInsightsService(options: InsightsOptions): Service {
  const insights = createInsights(options);
  const cron = createCron({
    name: "insights",
    expression: "20 * * * * *",
    log: options.log,
    work: (signal) => insights.run(signal),
  });
  return {
    ...cron,
    async stop() {
      await cron.stop();
      await insights.resign();
    },
  };
}

/** Report ids, with the time of their next retry on the monotonic clock. */
type Failed = Map<string, number>;

type Acquire = () => Promise<{ readonly lease: Lease; readonly now: number } | undefined>;

export function createInsights(options: InsightsOptions) {
  const { store, holder, clock, log, metrics } = options;
  const failed: Failed = new Map();
  let held: Lease | undefined;

  const acquire = async (): ReturnType<Acquire> => {
    const now = await store.now();
    held = await store.leases.acquire(INSIGHTS_LEASE, holder, now, LEASE_TTL_MS);
    return held && { lease: held, now };
  };

  return {
    /** Does due work, or nothing while another process holds the lease. */
    async run(signal?: AbortSignal): Promise<void> {
      const started = clock.monotonic();
      if (!(await markClosed(store, acquire, signal))) {
        failed.clear(); // another process retries them
        metrics.failing.set(0);
        return;
      }
      const counts = await settleMarked(options, failed, acquire, signal);
      // Every report due for a retry has been retried, or has lost its mark.
      for (const [id, retry] of failed) if (retry <= started) failed.delete(id);
      metrics.failing.set(failed.size);
      for (const [outcome, count] of Object.entries(counts))
        metrics.reports.inc({ outcome }, count);
      if (Object.keys(counts).length === 0) return;
      const duration_ms = Math.round(clock.monotonic() - started);
      log.info({ ...counts, duration_ms }, "insights computed");
    },
    /** Releases the lease for the next process. */
    async resign(): Promise<void> {
      if (held) await store.leases.release(held);
      held = undefined;
    },
  };
}

/**
 * Marks the reports of every period that has closed since the lease's cursor, moving the cursor
 * from one closing time to the next. If the cursor does not move, the same reports are marked
 * again. Returns false if another process holds the lease.
 */
async function markClosed(
  store: Store,
  acquire: Acquire,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  for (;;) {
    const acquired = await acquire();
    if (!acquired) return false;
    const { lease, now } = acquired;
    const until = now - INSIGHT_DELAY_MS;
    const from = lease.cursor ?? (await store.insights.firstDay()) ?? until;
    const closed = closedBetween(from, until);
    const end = closed[0]?.end;
    if (end === undefined && lease.cursor !== null) return true;
    for (const period of closed.filter((each) => each.end === end))
      await markPeriod(store, period, signal);
    if (!(await store.leases.advance(lease, end ?? until))) return false;
  }
}

async function markPeriod(
  store: Store,
  period: InsightPeriod,
  signal: AbortSignal | undefined,
): Promise<void> {
  let place = await store.insights.mark(period, undefined, CALLS_A_STEP);
  while (place) {
    await yieldTurn(signal);
    place = await store.insights.mark(period, place, CALLS_A_STEP);
  }
}

type Outcome = Settled | "failed";

/** Returns how many reports had each outcome. */
async function settleMarked(
  options: InsightsOptions,
  failed: Failed,
  acquire: Acquire,
  signal: AbortSignal | undefined,
): Promise<Partial<Record<Outcome, number>>> {
  const { insights } = options.store;
  const counts: Partial<Record<Outcome, number>> = {};
  let after: StaleInsight | undefined;
  for (;;) {
    const acquired = await acquire();
    if (!acquired) return counts;
    const until = acquired.now - INSIGHT_DELAY_MS;
    const page = await insights.listStale(until, after, REPORTS_A_STEP);
    await forEach(page, insights.atOnce.reports, async (stale) => {
      const outcome = await settle(options, failed, stale, signal);
      if (outcome) counts[outcome] = (counts[outcome] ?? 0) + 1;
    });
    after = page.at(-1);
    if (page.length < REPORTS_A_STEP) return counts;
    await yieldTurn(signal);
  }
}

/** Returns undefined for a report whose retry is not due yet. */
async function settle(
  { store, clock, log, metrics }: InsightsOptions,
  failed: Failed,
  stale: StaleInsight,
  signal: AbortSignal | undefined,
): Promise<Outcome | undefined> {
  const id = insightId(stale);
  if ((failed.get(id) ?? 0) > clock.monotonic()) return undefined;
  const started = clock.monotonic();
  try {
    const settled = await settleInsight(store, stale, signal);
    failed.delete(id);
    metrics.seconds.observe((clock.monotonic() - started) / 1000);
    if (settled !== "stored") log.debug({ insight_id: id, reason: settled }, "insight not stored");
    return settled;
  } catch (err) {
    if (signal?.aborted) throw err;
    // One report's query may fail while the database serves all the others.
    if (isUnavailable(err)) await store.ping();
    failed.set(id, clock.monotonic() + RETRY_MS);
    log.error({ err, insight_id: id }, "insight could not be computed; retrying in an hour");
    return "failed";
  }
}

/** Works on `atOnce` items at a time. After a failure, rejects once all running work has ended. */
async function forEach<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values();
  const take = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await allDone(Array.from({ length: atOnce }, take));
}
