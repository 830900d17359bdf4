// Removes expired data: hourly, in one process at a time, in small batches with pauses: results and
// the beat never wait for it.
import { setTimeout as pause } from "node:timers/promises";
import {
  countedFrom,
  COUNTING_LEASE,
  EXPIRING_KINDS,
  keptFrom,
  nextBatch,
  PERCENTILES_LEASE,
  RETENTION_LEASE,
} from "../model/retention.ts";
import type {
  Batch,
  ExpiringKind,
  KeptFrom,
  RemovalPlace,
  RetentionDays,
} from "../model/retention.ts";
import type { Clock } from "../runtime/clock.ts";
import { createCron } from "../runtime/cron.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Lease } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { AggregatorMetrics } from "./metrics.ts";

export interface RetentionOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly days: RetentionDays;
  /** Identifies this process. */
  readonly holder: string;
}

export interface RemovalOptions extends RetentionOptions {
  readonly signal: AbortSignal;
  /** Counts what would be removed, and changes nothing. */
  readonly dryRun?: boolean;
  /** Called after each batch with the rows that it removed, or counted. */
  readonly onBatch?: (rows: number) => void;
  /** Called once all of a kind has been removed, or when the removal stops at that kind. */
  readonly onRemoved: (removed: RemovedKind) => void;
}

export interface RemovedKind {
  readonly kind: ExpiringKind;
  readonly rows: number;
  /** The time of the oldest row that stays; null if none does. */
  readonly oldestKept: number | null;
}

const HOURLY = "47 * * * *";

const LEASE_TTL_MS = 60_000;
const RENEW_AFTER_MS = 10_000;
const LONGEST_PAUSE_MS = 1000;

/** Runs hourly, in whichever process is first, and logs what was removed. */
export function createRetention(
  options: RetentionOptions & { readonly log: Logger; readonly metrics: AggregatorMetrics },
): Service {
  const { log, metrics, clock } = options;
  const cron = createCron({
    name: "retention",
    expression: HOURLY,
    log,
    async work(signal) {
      const began = clock.monotonic();
      const counts: Partial<Record<ExpiringKind, number>> = {};
      const onRemoved = ({ kind, rows }: RemovedKind): void => {
        counts[kind] = rows;
        metrics.removed.inc({ kind }, rows);
      };
      if ((await removeExpired({ ...options, signal, onRemoved })) !== "held elsewhere")
        log.info(
          { ...counts, duration_ms: Math.round(clock.monotonic() - began) },
          "expired data removed",
        );
    },
  });
  return {
    ...cron,
    async start() {
      await whileHeld(options, async () => undefined);
      await cron.start();
    },
  };
}

/** If the signal stops it, the next removal continues where it left off. */
export async function removeExpired(
  options: RemovalOptions,
): Promise<"complete" | "stopped" | "held elsewhere"> {
  const { store, days, dryRun = false } = options;
  const needed = await store.insights.neededSince();
  const now = countedFrom(await store.now(), await store.retention.lastCountedFrom());
  const kept = keptFrom(days, now, needed);
  if (dryRun) return removeKinds(options, kept, null, async () => !options.signal.aborted);
  const outcome = await whileHeld(options, async ([all, percentiles, counting]) => {
    await store.leases.advance(counting, now);
    await advance(store, all, kept.raw);
    const ended = await removeKinds(options, kept, percentiles.cursor, createRenewal(options));
    if (ended === "complete") await advance(store, percentiles, kept.hours);
    return ended;
  });
  return outcome ?? "held elsewhere";
}

type Leases = readonly [all: Lease, percentiles: Lease, counting: Lease];

/**
 * Creates the coming days' tables and does the work. Undefined if another process holds the leases.
 */
async function whileHeld<T>(
  options: RetentionOptions,
  work: (leases: Leases) => Promise<T>,
): Promise<T | undefined> {
  const { store } = options;
  const held = await acquireLeases(options);
  if (!held) return undefined;
  try {
    await store.retention.makeAhead(await store.now());
    return await work(held);
  } finally {
    for (const lease of held) await store.leases.release(lease);
  }
}

async function acquireLeases({ store, holder }: RetentionOptions): Promise<Leases | undefined> {
  const now = await store.now();
  const acquire = (name: string) => store.leases.acquire(name, holder, now, LEASE_TTL_MS);
  const all = await acquire(RETENTION_LEASE);
  const percentiles = all && (await acquire(PERCENTILES_LEASE));
  const counting = percentiles && (await acquire(COUNTING_LEASE));
  return counting && [all, percentiles, counting];
}

/**
 * Never moves the cursor back: settings may now keep data longer, but removed data stays removed.
 */
async function advance(store: Store, lease: Lease, cursor: number): Promise<void> {
  if (cursor > (lease.cursor ?? 0)) await store.leases.advance(lease, cursor);
}

/**
 * Returns a check whether to continue: the signal has not aborted, and this process still holds the
 * leases, which the check renews.
 */
function createRenewal(options: RemovalOptions): () => Promise<boolean> {
  const { clock, signal } = options;
  let renewed = clock.monotonic();
  return async () => {
    if (signal.aborted) return false;
    if (clock.monotonic() - renewed < RENEW_AFTER_MS) return true;
    renewed = clock.monotonic();
    return (await acquireLeases(options)) !== undefined;
  };
}

async function removeKinds(
  options: RemovalOptions,
  kept: KeptFrom,
  doneBefore: number | null,
  goesOn: () => Promise<boolean>,
): Promise<"complete" | "stopped"> {
  for (const kind of EXPIRING_KINDS) {
    const removal = removeKind(options, { kind, kept, doneBefore }, goesOn);
    const { rows, isComplete } = await removal;
    options.onRemoved({
      kind,
      rows,
      oldestKept: await options.store.retention.oldestKept(kind, kept),
    });
    if (!isComplete) return "stopped";
  }
  return "complete";
}

interface Removal extends Pick<Batch, "kept" | "doneBefore"> {
  readonly kind: ExpiringKind;
}

async function removeKind(
  options: RemovalOptions,
  removal: Removal,
  goesOn: () => Promise<boolean>,
): Promise<{ readonly rows: number; readonly isComplete: boolean }> {
  const { store, clock, dryRun = false } = options;
  const { kind, ...batches } = removal;
  const { batchMs } = store.retention;
  let rows = await dropDays(options, removal, goesOn);
  let batch: Batch = { ...batches, dryRun, after: undefined, limit: nextBatch(batchMs) };
  while (await goesOn()) {
    const began = clock.monotonic();
    const removed = await store.retention.remove(kind, batch);
    const ms = clock.monotonic() - began;
    rows += removed.rows;
    options.onBatch?.(removed.rows);
    if (!removed.next) return { rows, isComplete: true };
    const limit = nextBatch(batchMs, { rows: batch.limit, ms });
    batch = { ...batch, after: removed.next, limit };
    await pauseAfter(ms);
    if (!dryRun) await writeBack(options);
  }
  return { rows, isComplete: false };
}

/** Pauses for as long as the work before took, at most `LONGEST_PAUSE_MS`. */
const pauseAfter = (ms: number): Promise<void> => pause(Math.min(Math.ceil(ms), LONGEST_PAUSE_MS));

async function writeBack({ store, clock }: RemovalOptions): Promise<void> {
  const began = clock.monotonic();
  await store.retention.writeBack();
  await pauseAfter(clock.monotonic() - began);
}

/** Drops whole daily tables in which nothing is kept. */
async function dropDays(
  { store, dryRun = false, onBatch }: RemovalOptions,
  { kind, kept }: Removal,
  goesOn: () => Promise<boolean>,
): Promise<number> {
  let rows = 0;
  let after: RemovalPlace;
  do {
    if (dryRun || !(await goesOn())) break;
    const dropped = await store.retention.dropDay(kind, { kept, after });
    rows += dropped.rows;
    onBatch?.(dropped.rows);
    after = dropped.next;
  } while (after);
  return rows;
}
