// Recorded outcomes for listeners: limits their number, and decides who may read which outcome. One
// loop reads the store for all of them, while there are any.
import { canRead } from "../model/access.ts";
import type { Owned, Principal } from "../model/access.ts";
import type { RecordedBatch, RecordedOutcome, RecordedPlace } from "../model/recorded.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Store } from "../store/store.ts";
import { BATCHES_AT_ONCE, createFeed } from "./event-feed.ts";
import { anOwner, createPlaces, inTotal } from "./places.ts";
import type { PlaceLimit } from "./places.ts";
import { isStillValid } from "./sessions.ts";

const STREAMS_OF_A_KEY = 20;
/** How long the rights to a call are cached: all listeners read a batch within this time. */
const RIGHTS_KEPT_MS = 500;

export interface EventsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Maximum open streams in this process. */
  readonly maxEventStreams: number;
  readonly sessionIdleMs: number;
}

export type Events = ReturnType<typeof createEvents>;

/** A listener. */
export interface Listening {
  /** Where the listener starts: the newest batch recorded when it began. */
  readonly place: RecordedPlace;
  readonly stop: () => void;
}

export function createEvents(options: EventsOptions) {
  const { store, clock } = options;
  const places = createPlaces(limitsOf(options.maxEventStreams));
  const rights = createRights(options);
  const feed = createFeed(options);
  return {
    /**
     * Rejects with `too_many` if too many streams of the key, of the owner or in total are open.
     */
    async listen(principal: Principal): Promise<Listening> {
      const release = places.take(principal);
      const leave = await feed.enter().catch((error: unknown) => {
        release();
        throw error;
      });
      const stop = (): void => {
        leave();
        release();
      };
      return { place: feed.newest(), stop };
    },
    /** Resolves to the batch with this number; undefined if it is unknown or no longer kept. */
    find: (seq: number): Promise<RecordedBatch | undefined> => store.recorded.find(seq),
    /** Resolves to the batches after a place; to none after `ms`, or when `ended` aborts. */
    async next(
      place: RecordedPlace,
      ms: number,
      ended: AbortSignal,
    ): Promise<readonly RecordedBatch[]> {
      const known = feed.after(place);
      if (!known) return store.recorded.after(place, BATCHES_AT_ONCE);
      if (known.length > 0) return known;
      const waiting = new AbortController();
      const signal = AbortSignal.any([ended, waiting.signal]);
      await Promise.race([feed.arrival(), clock.pause(ms, signal).catch(() => undefined)]);
      waiting.abort();
      return feed.after(place) ?? [];
    },
    readable: rights,
    /** Whether the key is still active and the session, if there is one, still open. */
    holds: (principal: Principal, session: string | undefined): Promise<boolean> =>
      isStillValid(store, principal, session, { idleMs: options.sessionIdleMs, isUse: false }),
  };
}

const limitsOf = (maxStreams: number): PlaceLimit[] => [
  {
    groupOf: ({ key_id }) => key_id,
    most: STREAMS_OF_A_KEY,
    full: (held) => `${held} event streams of this key are open, the maximum for a key`,
  },
  {
    // An owner may have a thousand keys.
    groupOf: anOwner,
    most: maxStreams / 2,
    full: (held) =>
      `${held} event streams of this owner are open, half of SONDE_MAX_EVENT_STREAMS, the maximum for an owner`,
  },
  {
    groupOf: inTotal,
    most: maxStreams,
    full: (held) =>
      `${held} event streams are open, the maximum for this process (SONDE_MAX_EVENT_STREAMS)`,
  },
];

/** An outcome is visible to those who may read the results of its call or workflow. */
function createRights({ store, clock }: EventsOptions) {
  let cached = new Map<string, Owned | undefined>();
  let began = clock.monotonic();
  const targetOf = ({ call_id, workflow_id }: RecordedOutcome): string =>
    call_id ?? workflow_id ?? "";

  async function sharingOf(ids: readonly string[]): Promise<typeof cached> {
    const now = clock.monotonic();
    if (now - began >= RIGHTS_KEPT_MS) [cached, began] = [new Map(), now];
    const known = cached;
    const missing = ids.filter((id) => !known.has(id));
    if (missing.length === 0) return known;
    const found = await store.recorded.sharing(missing);
    for (const id of missing) known.set(id, found.get(id));
    return known;
  }

  /** Resolves to a function that tells whether the reader may read an outcome. */
  return async (
    reader: Principal,
    outcomes: readonly RecordedOutcome[],
  ): Promise<(outcome: RecordedOutcome) => boolean> => {
    const known = await sharingOf([...new Set(outcomes.map(targetOf))]);
    return (outcome) => {
      const sharing = known.get(targetOf(outcome));
      return sharing !== undefined && canRead(reader, sharing);
    };
  };
}
