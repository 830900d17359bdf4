// The beat: opens every slot that is due, once, and sees to it that what was ordered is published.
// Beating early, late, twice or not at all is harmless: what is due follows from the cursor and the
// clock alone.
import { dueRun, MINUTE_MS, newestOpenSlot, nextTrigger, slotOf } from "../model/slots.ts";
import type { Dispatcher } from "../dispatch/dispatch.ts";
import { scheduledRun } from "../dispatch/pending-run.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Lease, PendingRun, StoredSchedule } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { SchedulerMetrics } from "./metrics.ts";
import { missOverlapped } from "./overlap.ts";
import { publishPending } from "./publish.ts";

export const LEASE_NAME = "scheduler";
const LEASE_TTL_MS = 10_000;

/**
 * How long before a slot that did not see it, because it was just being stored, a deployment may
 * have started.
 */
const LATE_STARTERS_MS = 3 * MINUTE_MS;

/** Longer than the longest delay of a run. */
const SCHEDULES_KEPT_MS = 25 * 60 * MINUTE_MS;

export interface BeatOptions {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly log: Logger;
  readonly metrics: SchedulerMetrics;
  /** Names this process among schedulers. */
  readonly holder: string;
}

export interface Beat {
  /** Does all that is due. False when another scheduler holds the lease. */
  run(signal?: AbortSignal): Promise<boolean>;
  /** Leaves the lease to the next scheduler. */
  resign(): Promise<void>;
}

export function createBeat(options: BeatOptions): Beat {
  const { store, holder, log, metrics } = options;
  let held: Lease | undefined;

  const acquire = async (at: number): Promise<Lease | undefined> => {
    const lease = await store.leases.acquire(LEASE_NAME, holder, at, LEASE_TTL_MS);
    if (lease && lease.fence !== held?.fence)
      log.info({ fence: lease.fence }, "scheduler lease taken");
    if (held && !lease) log.warn("scheduler lease lost");
    metrics.leader.set(lease ? 1 : 0);
    return (held = lease);
  };

  return {
    async run(signal) {
      let lease = await acquire(await store.now());
      if (typeof lease?.cursor === "number")
        await openForLateStarters(options, lease.cursor, await store.now());
      while (lease && !signal?.aborted) {
        const at = await store.now();
        const slot = lease.cursor === null ? await firstSlot(store, at) : lease.cursor + MINUTE_MS;
        if (slot > newestOpenSlot(at)) break;
        await openSlot(options, lease, slot, at);
        lease = await acquire(await store.now());
      }
      if (!lease) return false;
      await missOverlapped(options, await store.now());
      await publishPending(options, await store.now(), signal);
      return true;
    },
    async resign() {
      if (held) await store.leases.release(held);
      held = undefined;
      metrics.leader.set(0);
    },
  };
}

/**
 * Deployments may be older than the first scheduler: their slots are accounted for from the
 * beginning.
 */
async function firstSlot(store: Store, now: number): Promise<number> {
  const earliest = await store.schedules.earliestStart();
  return slotOf(Math.min(now, earliest ?? now));
}

/**
 * One transaction: the cursor moves and the slot's runs are ordered, or neither. Does nothing for a
 * former holder.
 */
async function openSlot(
  options: BeatOptions,
  lease: Lease,
  slot: number,
  now: number,
): Promise<void> {
  const { store, log, metrics } = options;
  const opened = await store.transaction(async (inner) => {
    if (!(await inner.leases.advance(lease, slot))) return undefined;
    await inner.schedules.prune(slot - SCHEDULES_KEPT_MS);
    const runs = (await inner.schedules.due(slot)).map((schedule) => scheduledRun(schedule, slot));
    return order(inner, runs, now, "scheduler_down: no scheduler was at work when the run was due");
  });
  if (!opened) return;
  metrics.slots.inc();
  metrics.cursor.set(slot / 1000);
  count(metrics, opened, "scheduler_down");
  const outcome = {
    slot: new Date(slot).toISOString(),
    ordered: opened.ordered,
    missed: opened.missed,
  };
  if (opened.missed > 0) log.warn(outcome, "slot opened late");
  else if (opened.ordered > 0) log.info(outcome, "slot opened");
}

interface Ordered {
  readonly ordered: number;
  readonly missed: number;
}

/**
 * Of the runs that are new, those that can still start become pending; the others are MISSED at
 * once.
 */
async function order(
  store: Store,
  runs: readonly PendingRun[],
  now: number,
  reason: string,
): Promise<Ordered> {
  const fresh = await store.pendingRuns.insert(runs);
  const tooLate = fresh.filter((run) => run.latest_start < now);
  const missed = await store.results.recordMissed(
    tooLate.map((run) => ({ run, result: "MISSED", message: reason })),
  );
  return { ordered: fresh.length - missed, missed };
}

function count(metrics: SchedulerMetrics, { ordered, missed }: Ordered, reason: string): void {
  metrics.runs.inc(ordered);
  if (missed > 0) metrics.missed.inc({ reason }, missed);
}

/**
 * Orders what could not be seen yet when the slots up to the cursor were opened; what was seen is
 * there and stays as it is. The look back begins at the cursor: a beat that comes late must not
 * look for less.
 */
async function openForLateStarters(
  options: BeatOptions,
  cursor: number,
  now: number,
): Promise<void> {
  const { store, log, metrics } = options;
  const since = Math.min(now, cursor) - LATE_STARTERS_MS;
  const started = await store.schedules.startedSince(since);
  const runs = started.flatMap((schedule) => runsUpTo(schedule, cursor));
  if (runs.length === 0) return;
  const reason = "deployed_late: the deployment was stored after its run was due";
  const opened = await store.transaction((inner) => order(inner, runs, now, reason));
  count(metrics, opened, "deployed_late");
  if (opened.ordered + opened.missed > 0) log.info(opened, "late starters ordered");
}

function runsUpTo(schedule: StoredSchedule, cursor: number): PendingRun[] {
  const runs: PendingRun[] = [];
  let trigger = nextTrigger(schedule.frequency, schedule.active_from - 1);
  for (;;) {
    const slot = slotOf(trigger + schedule.run_delay * 1000);
    if (slot > cursor || dueRun(schedule, slot).trigger_time !== trigger) return runs;
    if (schedule.active_until > trigger) runs.push(scheduledRun(schedule, slot));
    trigger = nextTrigger(schedule.frequency, trigger);
  }
}
