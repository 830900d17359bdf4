// The beat: opens every due slot once and publishes what was ordered. It may come early, late,
// twice or not at all: what is due follows from the cursor and the clock alone.
import { MINUTE_MS, newestOpenSlot, slotOf, slotsUpTo } from "../model/slots.ts";
import { scheduledRun } from "../dispatch/pending-run.ts";
import type { Lease, PendingRun, StoredSchedule } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { missOverlapped, publishPending } from "./publish.ts";
import type { PublishOptions } from "./publish.ts";
import { missedFor } from "./reconcile.ts";
import type { Reason } from "./reconcile.ts";

export const LEASE_NAME = "scheduler";
const LEASE_TTL_MS = 10_000;

/** A deployment that started this long before a slot may have been stored after it was opened. */
const LATE_STARTERS_MS = 3 * MINUTE_MS;

/** Longer than the longest delay of a run. */
const SCHEDULES_KEPT_MS = 25 * 60 * MINUTE_MS;

export interface BeatOptions extends PublishOptions {
  /** Identifies this process among schedulers. */
  readonly holder: string;
}

export type Beat = ReturnType<typeof createBeat>;

export function createBeat(options: BeatOptions) {
  const { store, holder, log, metrics } = options;
  let held: Lease | undefined;
  let orderedLate: ReadonlySet<string> = new Set();

  const acquire = async (now: number): Promise<Lease | undefined> => {
    const lease = await store.leases.acquire(LEASE_NAME, holder, now, LEASE_TTL_MS);
    if (lease && lease.fence !== held?.fence)
      log.info({ fence: lease.fence }, "scheduler lease taken");
    if (held && !lease) log.warn("scheduler lease lost");
    metrics.leader.set(lease ? 1 : 0);
    return (held = lease);
  };

  return {
    /**
     * Does everything that is due. False while another scheduler holds the lease. Asks for the time
     * once; again before each further slot when it catches up.
     */
    async run(signal?: AbortSignal): Promise<boolean> {
      let now = await store.now();
      let lease = await acquire(now);
      if (typeof lease?.cursor === "number")
        orderedLate = await orderLateStarters(options, lease.cursor, now, orderedLate);
      while (lease && !signal?.aborted) {
        const slot = lease.cursor === null ? await firstSlot(store, now) : lease.cursor + MINUTE_MS;
        if (slot > newestOpenSlot(now)) break;
        const isLast = slot + MINUTE_MS > newestOpenSlot(now);
        if ((await openSlot(options, lease, slot, now)) && isLast) break;
        now = await store.now();
        lease = await acquire(now);
      }
      if (!lease) return false;
      await missOverlapped(options, now);
      await publishPending(options, now, signal);
      return true;
    },
    /** Leaves the lease to the next scheduler. */
    async resign(): Promise<void> {
      if (held) await store.leases.release(held);
      held = undefined;
      metrics.leader.set(0);
    },
  };
}

/** Deployments may be older than the first scheduler: their slots count from the beginning. */
async function firstSlot(store: Store, now: number): Promise<number> {
  const earliest = await store.schedules.earliestStart();
  return slotOf(Math.min(now, earliest ?? now));
}

/**
 * In one transaction: moves the cursor and orders the slot's runs. False, and nothing done, for a
 * former holder of the lease.
 */
async function openSlot(
  options: BeatOptions,
  lease: Lease,
  slot: number,
  now: number,
): Promise<boolean> {
  const { store, log, metrics } = options;
  const opened = await store.transaction(async (inner) => {
    if (!(await inner.leases.advance(lease, slot))) return undefined;
    const { schedules } = inner;
    await schedules.prune(slot - SCHEDULES_KEPT_MS);
    const runs = (await schedules.due(slot)).map((schedule) => scheduledRun(schedule, slot));
    return order(inner, runs, now, "scheduler_down");
  });
  if (!opened) return false;
  metrics.slots.inc();
  metrics.cursor.set(slot / 1000);
  countOrdered(options, opened, "scheduler_down");
  const outcome = { slot: new Date(slot).toISOString(), ...opened };
  if (opened.missed > 0) log.warn(outcome, "slot opened late");
  else if (opened.ordered > 0) log.info(outcome, "slot opened");
  return true;
}

interface Ordered {
  readonly ordered: number;
  readonly missed: number;
}

/** New runs become pending; those that can no longer start in time are MISSED at once. */
async function order(
  { pendingRuns, results }: Store,
  runs: readonly PendingRun[],
  now: number,
  reason: Reason,
): Promise<Ordered> {
  const fresh = await pendingRuns.insert(runs);
  const tooLate = fresh.filter((run) => run.latest_start < now);
  if (tooLate.length > 0) await results.recordMissed(tooLate.map((run) => missedFor(reason, run)));
  return { ordered: fresh.length - tooLate.length, missed: tooLate.length };
}

function countOrdered({ metrics }: BeatOptions, { ordered, missed }: Ordered, reason: Reason) {
  metrics.runs.inc(ordered);
  if (missed > 0) metrics.missed.inc({ reason }, missed);
}

/**
 * Orders the runs of deployments that were stored after their slots were opened. Looks back from
 * the cursor: a late beat must not look at less. `known`: the slots that the previous beat has
 * checked, each with its deployment; returns those that this one has.
 */
async function orderLateStarters(
  options: BeatOptions,
  cursor: number,
  now: number,
  known: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const { store, log } = options;
  const started = await store.schedules.startedSince(Math.min(now, cursor) - LATE_STARTERS_MS);
  const slots = new Map<string, readonly [StoredSchedule, number]>();
  for (const schedule of started)
    for (const slot of slotsUpTo(schedule, cursor))
      slots.set(`${schedule.deployment_id}|${schedule.active_from}|${slot}`, [schedule, slot]);
  const runs = [...slots]
    .filter(([key]) => !known.has(key))
    .map(([, [schedule, slot]]) => scheduledRun(schedule, slot));
  const missing = await store.pendingRuns.listUnordered(runs);
  if (missing.length > 0) {
    const opened = await store.transaction((inner) => order(inner, missing, now, "deployed_late"));
    countOrdered(options, opened, "deployed_late");
    log.info(opened, "runs of late starters ordered");
  }
  return new Set(slots.keys());
}
