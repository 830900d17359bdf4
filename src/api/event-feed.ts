// Feeds newly recorded outcomes to listeners: one loop reads the store while there are any.
import { RECORDED_FROM_START } from "../model/recorded.ts";
import type { RecordedBatch, RecordedPlace } from "../model/recorded.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Store } from "../store/store.ts";

const READ_EVERY_MS = 500;
export const BATCHES_AT_ONCE = 20;
/** Listeners further behind read the store. */
const OUTCOMES_KEPT = 5000;

export interface FeedOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
}

export function createFeed(options: FeedOptions) {
  const kept = createKeptBatches();
  let listeners = 0;
  let opened: Promise<AbortController> | undefined;

  async function open(): Promise<AbortController> {
    kept.startAt((await options.store.recorded.last()) ?? RECORDED_FROM_START);
    const reading = new AbortController();
    void readOn(options, kept, reading.signal);
    return reading;
  }

  function leave(): void {
    listeners -= 1;
    if (listeners > 0) return;
    const ending = opened;
    opened = undefined;
    ending?.then((reading) => reading.abort()).catch(() => undefined);
  }

  return {
    /** Adds a listener. Returns a function that removes it. */
    async enter(): Promise<() => void> {
      listeners += 1;
      opened ??= open();
      await opened.catch((error: unknown) => {
        leave(); // like every other waiting listener: the next one reopens the feed
        throw error;
      });
      return leave;
    },
    newest: kept.newest,
    after: kept.after,
    arrival: kept.arrival,
  };
}

async function readOn(
  { store, clock, log }: FeedOptions,
  kept: KeptBatches,
  signal: AbortSignal,
): Promise<void> {
  let isFailing = false;
  while (!signal.aborted) {
    const batches = await store.recorded
      .after(kept.newest(), BATCHES_AT_ONCE)
      .catch((err: unknown) => {
        if (!isFailing) log.warn({ err }, "cannot read events; retrying");
        return undefined;
      });
    if (signal.aborted) return;
    isFailing = !batches;
    if (batches && batches.length > 0) kept.add(batches);
    if (batches?.length === BATCHES_AT_ONCE) continue;
    await clock.pause(READ_EVERY_MS, signal).catch(() => undefined);
  }
}

type KeptBatches = ReturnType<typeof createKeptBatches>;

/** Keeps the newest batches in memory: all those after a floor, which rises as old ones go. */
function createKeptBatches() {
  let floor = RECORDED_FROM_START;
  let known: readonly RecordedBatch[] = [];
  let arrived = Promise.withResolvers<void>();
  return {
    startAt(place: RecordedPlace): void {
      [floor, known] = [place, []];
    },
    add(batches: readonly RecordedBatch[]): void {
      known = [...known, ...batches];
      let outcomes = known.reduce((sum, batch) => sum + batch.outcomes.length, 0);
      while (outcomes > OUTCOMES_KEPT && known.length > 1) {
        const [oldest, ...rest] = known as [RecordedBatch, ...RecordedBatch[]];
        outcomes -= oldest.outcomes.length;
        [floor, known] = [oldest.place, rest];
      }
      arrived.resolve();
      arrived = Promise.withResolvers();
    },
    newest: (): RecordedPlace => known.at(-1)?.place ?? floor,
    /** Undefined for a place below the floor: only the store has what follows it. */
    after: (place: RecordedPlace): readonly RecordedBatch[] | undefined =>
      isAfter(floor, place) ? undefined : known.filter((batch) => isAfter(batch.place, place)),
    arrival: (): Promise<void> => arrived.promise,
  };
}

const isAfter = (a: RecordedPlace, b: RecordedPlace): boolean =>
  a.xact > b.xact || (a.xact === b.xact && a.seq > b.seq);
