// Limits long-running work, such as exports and event streams: no owner may take the places of
// others.
import { identityOf, ownedBy } from "../model/access.ts";
import type { Principal } from "../model/access.ts";
import { TooManyError } from "../model/errors.ts";

/** Callers of the same group together hold at most `most` places. */
export interface PlaceLimit {
  readonly groupOf: (caller: Principal) => string;
  readonly most: number;
  /** Returns the message for callers beyond it. */
  readonly full: (held: number) => string;
}

const RETRY_AFTER_SECONDS = 10;

export const anOwner = (caller: Principal): string => identityOf(ownedBy(caller));
export const inTotal = (): string => "";

export function createPlaces(limits: readonly PlaceLimit[]) {
  const places = new Set<{ readonly caller: Principal }>();
  return {
    /** Returns a function that frees the place. Throws `too_many`. */
    take(caller: Principal): () => void {
      for (const { groupOf, most, full } of limits) {
        const group = groupOf(caller);
        const held = [...places].filter((each) => groupOf(each.caller) === group).length;
        if (held >= most) throw new TooManyError(full(held), RETRY_AFTER_SECONDS);
      }
      const place = { caller };
      places.add(place);
      return () => void places.delete(place);
    },
  };
}
