// The health of locations: a reader's pending runs, and the punctuality and accuracy of the latest
// calls of all owners. Measured once for all callers, not per request.
import { identityOf, ownedBy } from "../model/access.ts";
import type { Actor, Ownership } from "../model/access.ts";
import { percentilesOf } from "../model/percentiles.ts";
import type { Percentiles } from "../model/percentiles.ts";
import { HOUR_MS } from "../model/periods.ts";
import { fromMicros } from "../model/timing.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Store } from "../store/store.ts";

/** How long a measurement is reused. */
const KEPT_MS = 5_000;
/** Maximum newest results to examine, over all locations. */
export const MOST_RESULTS = 5_000;
export const MOST_PENDING = 50_000;

export interface Load {
  /** The reader's runs without an outcome, including those in flight or not yet due. */
  readonly pending_runs: number;
  /** When the first of them is due, in epoch milliseconds; null without any. */
  readonly oldest_due: number | null;
  /** Calls in the sample. */
  readonly calls: number;
  /** Milliseconds; null without a call. */
  readonly lateness: Percentiles | null;
  readonly uncertainty: Percentiles | null;
}

/** Returns the load of the location with this id. */
export type LoadOf = (location_id: string, reader: Actor) => Load;

export function createLocationHealth({
  store,
  clock,
}: {
  readonly store: Store;
  readonly clock: Clock;
}): () => Promise<LoadOf> {
  let latest: { readonly at: number; readonly read: Promise<LoadOf> } | undefined;
  return () => {
    const at = clock.monotonic();
    if (latest && at - latest.at < KEPT_MS) return latest.read;
    const read = measure(store);
    latest = { at, read };
    // A failure reaches those who wait for it; the next caller measures again.
    read.catch(() => {
      latest = undefined;
    });
    return read;
  };
}

async function measure(store: Store): Promise<LoadOf> {
  const since = (await store.now()) - HOUR_MS;
  const pending = await store.fleet.pendingRunsByOwner(MOST_PENDING);
  const timings = await store.fleet.recentTimings(since, MOST_RESULTS);
  const keyOf = (location_id: string, owner: Ownership) => `${location_id} ${identityOf(owner)}`;
  const queued = new Map(pending.map((at) => [keyOf(at.location_id, at), at]));
  const timed = Map.groupBy(timings, ({ location_id }) => location_id);
  return (location_id, reader) => {
    const { runs = 0, oldest_due = null } = queued.get(keyOf(location_id, ownedBy(reader))) ?? {};
    const calls = timed.get(location_id) ?? [];
    const doubts = calls.flatMap(({ uncertainty }) => fromMicros(uncertainty) ?? []);
    return {
      pending_runs: runs,
      oldest_due,
      calls: calls.length,
      lateness: percentilesOf(calls.map(({ lateness }) => lateness)),
      uncertainty: percentilesOf(doubts),
    };
  };
}
