// The messages of one subject of the in-process bus, and the consumers that share them.
import type { Clock } from "../runtime/clock.ts";
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

export interface QueueOptions {
  readonly maxAgeMs: number;
  readonly clock: Clock;
  /** Told of each message that nobody took within `maxAgeMs`. */
  readonly onExpired: () => void;
}

interface StoredMessage {
  readonly locationId: string;
  readonly data: Uint8Array;
  readonly storedAt: number;
  attempts: number;
}

interface Taker {
  readonly receiver: Receiver;
  readonly underWay: Set<Promise<void>>;
}

/** Messages that one consumer may hold at a time; agents hold ticks until they are due. */
const MAX_UNDER_WAY = 1000;

export function createQueue({
  clock,
  maxAgeMs,
  onExpired,
}: QueueOptions): Queue {
  const waiting = new Set<StoredMessage>();
  const consumers = new Map<Taker, Consumer>();
  // The one that has been handed nothing for longest is in front.
  const takers: Taker[] = [];
  const timers = new Set<NodeJS.Timeout>();
  const onEmpty = new Set<() => void>();
  const isDuplicate = createDeduplication(clock);
  let [pumping, closed] = [false, false];

  // Never within the caller's turn: a publisher is not held up by handlers.
  function pumpSoon(): void {
    if (pumping) return;
    pumping = true;
    setImmediate(() => {
      pumping = false;
      pump();
    });
  }

  function pump(): void {
    for (const message of waiting) {
      if (expireIfOld(message)) continue;
      const taker = idlest(takers);
      if (!taker) return;
      waiting.delete(message);
      handOver(message, taker);
    }
  }

  function handOver(message: StoredMessage, taker: Taker): void {
    message.attempts += 1;
    takers.push(...takers.splice(takers.indexOf(taker), 1));
    const work = taker.receiver.receive({
      locationId: message.locationId,
      data: message.data,
      attempt: message.attempts,
      acknowledge: () => undefined,
      discard: () => undefined,
      giveBack: (afterMs) => putBack(message, afterMs),
    });
    taker.underWay.add(work);
    void work.then(() => {
      taker.underWay.delete(work);
      pumpSoon();
      tellIfEmpty();
    });
  }

  const isEmpty = (): boolean =>
    waiting.size === 0 &&
    timers.size === 0 &&
    takers.every(({ underWay }) => underWay.size === 0);

  function tellIfEmpty(): void {
    if (!closed && !isEmpty()) return;
    for (const tell of onEmpty) tell();
    onEmpty.clear();
  }

  function putBack(message: StoredMessage, afterMs: number): void {
    if (closed) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      waiting.add(message);
      pumpSoon();
    }, afterMs);
    timers.add(timer);
  }

  function expireIfOld(message: StoredMessage): boolean {
    if (clock.monotonic() - message.storedAt <= maxAgeMs) return false;
    waiting.delete(message);
    onExpired();
    return true;
  }

  // Without a consumer, messages pile up: the oldest are in front.
  function expireOldest(): void {
    for (const message of waiting) if (!expireIfOld(message)) return;
  }

  return {
    publish({ id, data }, locationId) {
      if (isDuplicate(id)) return;
      expireOldest();
      const storedAt = clock.monotonic();
      waiting.add({ locationId, data, storedAt, attempts: 0 });
      pumpSoon();
    },
    attach(receiver) {
      const taker: Taker = { receiver, underWay: new Set() };
      const consumer = {
        async drain() {
          if (consumers.delete(taker)) takers.splice(takers.indexOf(taker), 1);
          receiver.stop();
          await Promise.all(taker.underWay);
        },
      };
      consumers.set(taker, consumer);
      takers.push(taker);
      pumpSoon();
      return consumer;
    },
    emptied() {
      const { promise, resolve } = Promise.withResolvers<void>();
      onEmpty.add(resolve);
      tellIfEmpty();
      return promise;
    },
    async close() {
      closed = true;
      waiting.clear();
      tellIfEmpty();
      for (const timer of timers) clearTimeout(timer);
      await Promise.all([...consumers.values()].map((each) => each.drain()));
    },
  };
}

function idlest(takers: readonly Taker[]): Taker | undefined {
  return takers
    .filter(({ underWay }) => underWay.size < MAX_UNDER_WAY)
    .toSorted((a, b) => a.underWay.size - b.underWay.size)[0];
}

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
