// Looks up the calls behind the metrics: their names, and whether they still run.
import { setImmediate as nextTurn } from "node:timers/promises";
import { chunksOf } from "../model/chunks.ts";
import { parseInstant } from "../model/instant.ts";
import { MINUTE_MS } from "../model/slots.ts";
import { labelTextOf } from "../runtime/exposition.ts";
import type { MonitoredCall } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import { keyOf } from "./listing.ts";
import type { Listing } from "./listing.ts";
import type { Pair } from "./pair.ts";
import { FORGET_AFTER_MS } from "./recent-keys.ts";
import type { RecentKeys } from "./recent-keys.ts";

const CALLS_A_QUERY = 500;

/** Updates the labels of pairs; removes pairs whose calls were deleted, opted out or have ended. */
export async function review(
  store: Store,
  chosen: readonly Pair[],
  { remove, hidden }: Pick<Listing, "remove" | "hidden">,
): Promise<void> {
  const ids = new Set(chosen.map(({ call_id }) => call_id));
  const calls = await readCalls(store, ids);
  const frequencies = await readFrequencies(store, ids);
  const now = await store.now();
  for (const pair of chosen) {
    const call = calls.get(pair.call_id);
    const frequency = frequencies.get(keyOf(pair));
    if (call?.isHidden) hidden.add(pair.call_id);
    if (!call || call.isHidden || hasEnded(pair, frequency, now)) {
      remove(pair);
      continue;
    }
    const { call_id, location_id: location } = pair;
    pair.labelText = labelTextOf({ call_id, call_name: call.name, location });
    pair.isCurrent = now - timeOf(pair.newest?.time) <= keptMs(frequency);
  }
}

const timeOf = (instant = ""): number => parseInstant(instant) ?? 0;

const GRACE_MS = 5 * MINUTE_MS;

/**
 * How long a result stays current. `frequency`: minutes between runs; undefined without a
 * deployment.
 */
const keptMs = (frequency: number | undefined): number =>
  GRACE_MS + 2 * (frequency ?? 0) * MINUTE_MS;

const hasEnded = ({ lastDue }: Pair, frequency: number | undefined, now: number): boolean =>
  frequency === undefined && now - timeOf(lastDue) > FORGET_AFTER_MS;

async function readCalls(
  store: Store,
  ids: ReadonlySet<string>,
): Promise<Map<string, MonitoredCall>> {
  const calls = new Map<string, MonitoredCall>();
  for (const some of chunksOf([...ids], CALLS_A_QUERY)) {
    for (const call of await store.monitoredCalls.list(some)) calls.set(call.id, call);
    await nextTurn();
  }
  return calls;
}

/** Returns the shortest interval between runs, in minutes, by `keyOf` the call and location. */
async function readFrequencies(
  store: Store,
  ids: ReadonlySet<string>,
): Promise<Map<string, number>> {
  const frequencies = new Map<string, number>();
  for (const some of chunksOf([...ids], CALLS_A_QUERY)) {
    for (const deployed of await store.monitoredCalls.frequenciesOf(some)) {
      const key = keyOf(deployed);
      frequencies.set(key, Math.min(deployed.frequency, frequencies.get(key) ?? Infinity));
    }
    await nextTurn();
  }
  return frequencies;
}

/** Forgets calls that were deleted, or no longer opt out. */
export async function forgetHidden(store: Store, hidden: RecentKeys): Promise<void> {
  const ids = hidden.keys();
  const calls = await readCalls(store, new Set(ids));
  for (const id of ids) if (!calls.get(id)?.isHidden) hidden.delete(id);
}
