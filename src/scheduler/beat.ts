// The beat: opens every due slot once and publishes the ordered runs. It may run early, late, twice
// or not at all: only the cursor and the clock determine what is due.
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  mayBeLate,
  mayStart,
  MINUTE_MS,
  newestOpenSlot,
  SCHEDULER_LEASE,
  slotOf,
} from "../model/slots.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Lease, Opening } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { orderRunsOfNewSchedules } from "./new-schedules.ts";
import { openSlots, recordLateRuns } from "./open-slots.ts";
import type { Renew } from "./parts.ts";
import { missOverlapped, publishPending } from "./publish.ts";
import type { PublishOptions } from "./publish.ts";
import { reconcile } from "./reconcile.ts";

/** Beats renew the lease each second; if they stop, another scheduler leads within ten seconds. */
const LEASE_TTL_MS = 7000;

/** Longer than the longest delay of a run. */
const SCHEDULES_KEPT_MS = 25 * 60 * MINUTE_MS;

/** The database returns whole milliseconds. */
const RESOLUTION_MS = 1;

export interface BeatOptions extends PublishOptions {
  readonly clock: Clock;
  /** Identifies this process among schedulers. */
  readonly holder: string;
}

export type Beat = ReturnType<typeof createBeat>;

export function createBeat(options: BeatOptions) {
  const { store, holder, log, metrics } = options;
  const times = createBeatTimes(options);
  let held: Lease | undefined;
  /** The start of the last beat that reached publishing, even if the bus did not take every run. */
  let published: number | undefined;

  const acquire = async (now: number): Promise<Lease | undefined> => {
    const lease = await store.leases.acquire(SCHEDULER_LEASE, holder, now, LEASE_TTL_MS);
    if (lease && lease.fence !== held?.fence)
      log.info({ fence: lease.fence }, "scheduler lease taken");
    if (held && !lease) log.warn("scheduler lease lost");
    showLease(metrics, held, lease);
    if (!lease) published = undefined;
    return (held = lease);
  };

  return {
    /**
     * Does all due work, current work before the backlog of an outage. False while another
     * scheduler holds the lease.
     */
    async run(signal?: AbortSignal): Promise<boolean> {
      const start = await readTime(options);
      const lease = await acquire(start);
      if (!lease) return false;
      const renew: Renew = async () => {
        await nextTurn();
        const now = await store.now();
        const renewed = await acquire(now);
        // With another fence, someone else led meanwhile: what this beat has read is stale.
        return renewed?.fence === lease.fence && !signal?.aborted ? now : undefined;
      };
      const moved = await moveCursor(options, lease, start);
      if (!moved) return (await renew()) !== undefined;
      if (moved !== lease) times.opened(moved, start);
      let now = await openSlots(options, start, renew);
      if (now !== undefined) now = await orderRunsOfNewSchedules(options, moved, now, renew);
      if (now === undefined) return held !== undefined;
      await missOverlapped(options, now);
      if (await publishPending(options, now, renew)) await times.published();
      published = start;
      await recordLateRuns(options, now, renew);
      return held !== undefined;
    },
    /** Up to the last beat: after a pause, a run may be unpublished because no beat has run. */
    async reconcile(signal?: AbortSignal): Promise<void> {
      if (published !== undefined) await reconcile(options, published, signal);
    },
    /** Leaves the lease to the next scheduler. */
    async resign(): Promise<void> {
      if (held) await store.leases.release(held);
      showLease(metrics, held, undefined);
      held = undefined;
    },
  };
}

/** Values that only the leader measures: absent until it has, and while another process leads. */
function showLease(
  { leader, cursor, lateSlots }: BeatOptions["metrics"],
  before: Lease | undefined,
  lease: Lease | undefined,
): void {
  leader.set(lease ? 1 : 0);
  if (!lease) cursor.remove();
  else if (lease.cursor !== null) cursor.set(lease.cursor / 1000);
  if (lease?.fence !== before?.fence) lateSlots.remove();
}

/**
 * In one transaction: moves the cursor to the newest slot that must be open, and stores the passed
 * slots until they are fully open. For a former leaseholder, does nothing and returns undefined.
 */
async function moveCursor(
  { store, metrics }: BeatOptions,
  lease: Lease,
  now: number,
): Promise<Lease | undefined> {
  const cursor = newestOpenSlot(now);
  const first = await firstSlot(store, lease, now);
  if (first > cursor) return lease;
  const passed = Array.from(
    { length: (cursor - first) / MINUTE_MS + 1 },
    (_, n) => first + n * MINUTE_MS,
  );
  const isMoved = await store.transaction(async ({ leases, slots, schedules }) => {
    if (!(await leases.advance(lease, cursor))) return false;
    await slots.add(passed.flatMap((slot) => openingsOf(slot, now)));
    const oldest = (await slots.oldest()) ?? cursor;
    await schedules.prune(oldest - SCHEDULES_KEPT_MS);
    return true;
  });
  if (!isMoved) return undefined;
  metrics.slots.inc(passed.length);
  metrics.cursor.set(cursor / 1000);
  metrics.lateSlots.set(await store.slots.countLate());
  return { ...lease, cursor };
}

const openingsOf = (slot: number, opened: number): Opening[] => [
  ...(mayStart(slot, opened) ? [{ slot, opened, late: false }] : []),
  ...(mayBeLate(slot, opened) ? [{ slot, opened, late: true }] : []),
];

/**
 * Returns the slot after the cursor, or the first that a deployment may be due in if it is later.
 * Deployments may be older than the first scheduler, and the cursor years older than they are: some
 * machines get the time only after the first beat.
 */
async function firstSlot(store: Store, { cursor }: Lease, now: number): Promise<number> {
  const next = cursor === null ? -Infinity : cursor + MINUTE_MS;
  if (next >= newestOpenSlot(now)) return next;
  const earliest = await store.schedules.earliestStart();
  return Math.max(next, slotOf(Math.min(now, earliest ?? now)));
}

/** Returns the store's time, and measures this machine's clock offset from it. */
async function readTime({ store, clock, metrics }: BeatOptions): Promise<number> {
  const own = clock.now();
  const began = clock.monotonic();
  const now = await store.now();
  const half = (clock.monotonic() - began) / 2;
  const offset = now - (own + half);
  const isWithinError = Math.abs(offset) <= half + RESOLUTION_MS;
  metrics.clockOffset.set(isWithinError ? 0 : offset / 1000);
  return now;
}

/** Measures the time from a slot's opening to its last tick, and the time left before the slot. */
function createBeatTimes({ store, metrics }: Pick<BeatOptions, "store" | "metrics">) {
  /** The newest slot, until its ticks are published. */
  let open: { readonly slot: number; readonly began: number } | undefined;
  return {
    opened({ cursor }: Lease, began: number): void {
      open = cursor === null ? undefined : { slot: cursor, began };
    },
    async published(): Promise<void> {
      if (!open) return;
      const now = await store.now();
      metrics.beatLead.observe(Math.max(0, open.slot - now) / 1000);
      metrics.beatDuration.observe(Math.max(0, now - open.began) / 1000);
      open = undefined;
    },
  };
}
