// Decides which pairs of a call and a location have series.
import type { ReportedResult } from "../model/result.ts";
import { newPair } from "./pair.ts";
import type { Pair } from "./pair.ts";
import { createRecentKeys } from "./recent-keys.ts";

export type Listing = ReturnType<typeof createListing>;

/**
 * Lists at most `max` pairs. The oldest calls, with the smallest ids, come first: a new call
 * displaces none, and every process chooses the same ones.
 */
export function createListing(max: number) {
  const pairs = new Map<string, Pair>();
  const unlisted = createRecentKeys();
  /** Calls that opted out. */
  const hidden = createRecentKeys();
  /** The key of the last listed pair; undefined while there is room. */
  let last: string | undefined;

  const add = (key: string, result: ReportedResult): Pair | undefined => {
    if (hidden.has(result.meta.call_id)) return undefined;
    if ((last !== undefined && key > last) || pairs.size >= 2 * max) {
      unlisted.add(key);
      return undefined;
    }
    unlisted.delete(key);
    const pair = newPair(result);
    pairs.set(key, pair);
    return pair;
  };

  return {
    hidden,
    unlisted,
    /** Includes pairs that have no labels yet. */
    pairs: (): Pair[] => [...pairs.values()],
    /** Returns undefined if the pair gets no series. */
    find(result: ReportedResult): Pair | undefined {
      const key = keyOf(result.meta);
      return pairs.get(key) ?? add(key, result);
    },
    remove: (pair: Pair): void => void pairs.delete(keyOf(pair)),
    /** Removes the pairs with labels that are beyond the bound. */
    bound(): void {
      const keys = [...pairs].filter(([, { labelText }]) => labelText).map(([key]) => key);
      const listed = keys.toSorted();
      last = listed.length < max ? undefined : listed[max - 1];
      for (const key of listed.slice(max)) {
        pairs.delete(key);
        unlisted.add(key);
      }
      unlisted.forgetOld();
    },
  };
}

export const keyOf = ({ call_id, location_id }: Pick<Pair, "call_id" | "location_id">): string =>
  `${call_id} ${location_id}`;
