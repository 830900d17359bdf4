// The messages of one subject of the in-process bus, and the consumers that share them.
import type { Clock } from "../runtime/clock.ts";
import { createBacklog } from "./backlog.ts";
import type { Backlog, BacklogOptions, StoredMessage } from "./backlog.ts";
import type { Consumer } from "./bus.ts";
import { DEDUPLICATION_WINDOW_MS } from "./bus.ts";
import type { EncodedMessage } from "./codec.ts";
import type { Receiver } from "./delivery.ts";

export interface Queue {
  /** Does nothing when a message with this id was published within `DEDUPLICATION_WINDOW_MS`. */
  publish(message: EncodedMessage, locationId: string): void;
  attach(receiver: Receiver): Consumer;
  /** Resolves when nothing waits, is being handled or is to come again. */
  emptied(): Promise<void>;
  /** Drains the consumers and forgets the messages. */
  close(): Promise<void>;
}

export type QueueOptions = Omit<BacklogOptions, "onAdded">;

export function createQueue(options: QueueOptions): Queue {
  // Never within the caller's turn: a publisher is not held up by handlers.
  const pumpSoon = onceSoon(() => pump());
  const backlog = createBacklog({ ...options, onAdded: pumpSoon });
  // The one that has been handed nothing for longest is in front.
  const takers = new Set<Taker>();
  const onEmpty = new Set<() => void>();
  const isDuplicate = createDeduplication(options.clock);
  let closed = false;

  function pump(): void {
    for (;;) {
      const taker = idlest(takers);
      const message = taker && backlog.take();
      if (!message) return;
      takers.delete(taker);
      takers.add(taker);
      void taker.take(message).then(() => {
        pumpSoon();
        tellIfEmpty();
      });
    }
  }

  function tellIfEmpty(): void {
    const busy = [...takers].some((taker) => taker.underWay() > 0);
    if (!closed && (busy || !backlog.isEmpty())) return;
    for (const tell of onEmpty) tell();
    onEmpty.clear();
  }

  return {
    publish({ id, data }, locationId) {
      if (isDuplicate(id)) return;
      const storedAt = options.clock.monotonic();
      backlog.add({ locationId, data, storedAt, attempts: 0 });
    },
    attach(receiver) {
      const taker = createTaker(receiver, backlog);
      takers.add(taker);
      pumpSoon();
      const drain = (): Promise<void> => {
        takers.delete(taker);
        return taker.drain();
      };
      return { drain };
    },
    emptied: () =>
      new Promise((resolve) => {
        onEmpty.add(resolve);
        tellIfEmpty();
      }),
    async close() {
      closed = true;
      backlog.close();
      tellIfEmpty();
      await Promise.all([...takers].map((taker) => taker.drain()));
    },
  };
}

/** Calls it once, when the caller's turn is over, however often it was asked to. */
function onceSoon(work: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    setImmediate(() => {
      asked = false;
      work();
    });
  };
}

/** Messages that one consumer may hold at a time; agents hold ticks until they are due. */
const MAX_UNDER_WAY = 1000;

interface Taker {
  /** Resolves when the message is done with, or back in the backlog. */
  take(message: StoredMessage): Promise<void>;
  underWay(): number;
  drain(): Promise<void>;
}

function createTaker(receiver: Receiver, backlog: Backlog): Taker {
  const underWay = new Set<Promise<void>>();
  return {
    async take(message) {
      const attempts = message.attempts + 1;
      const work = receiver.receive({
        locationId: message.locationId,
        data: message.data,
        attempt: attempts,
        acknowledge: () => undefined,
        discard: () => undefined,
        giveBack: (afterMs) => backlog.addLater({ ...message, attempts }, afterMs),
      });
      underWay.add(work);
      await work;
      underWay.delete(work);
    },
    underWay: () => underWay.size,
    async drain() {
      receiver.stop();
      await Promise.all(underWay);
    },
  };
}

const idlest = (takers: ReadonlySet<Taker>): Taker | undefined =>
  [...takers]
    .filter((taker) => taker.underWay() < MAX_UNDER_WAY)
    .toSorted((a, b) => a.underWay() - b.underWay())[0];

function createDeduplication(clock: Clock): (id: string) => boolean {
  const seen = new Map<string, number>();
  return (id) => {
    const oldest = clock.monotonic() - DEDUPLICATION_WINDOW_MS;
    for (const [known, at] of seen) {
      if (at >= oldest) break;
      seen.delete(known);
    }
    if (seen.has(id)) return true;
    seen.set(id, clock.monotonic());
    return false;
  };
}
