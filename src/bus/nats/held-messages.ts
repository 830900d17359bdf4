// The messages that a consumer is at work on: kept alive meanwhile, each handed over once.
import type { JsMsg } from "@nats-io/jetstream";
import type { Receiver } from "../delivery.ts";
import type { NatsLink } from "./connection.ts";
import { locationOfSubject } from "./topology.ts";

export interface HeldMessages {
  /** Hands it over, unless it is at work already: its end is then told of the newer delivery. */
  take(message: JsMsg, receiver: Receiver): void;
  count(): number;
  /** Resolves when that many are not held any more, or at `stopWaiting`. */
  fewerThan(limit: number): Promise<void>;
  stopWaiting(): void;
  /** Resolves when all are handled. */
  settled(): Promise<void>;
}

export interface HeldMessagesOptions {
  readonly link: NatsLink;
  readonly ackWaitMs: number;
}

interface Held {
  /** The newest delivery of the message. */
  message: JsMsg;
  work: Promise<void>;
}

export function createHeldMessages({ ackWaitMs, link }: HeldMessagesOptions): HeldMessages {
  const held = new Map<string, Held>();
  let waiting: { limit: number; resolve: () => void } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  const keepAlive = (): void => {
    if (link.fault() !== undefined) return;
    for (const { message } of held.values()) message.working();
  };

  function release(key: string): void {
    held.delete(key);
    if (held.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    if (waiting && held.size < waiting.limit) waiting.resolve();
  }

  return {
    take(message, receiver) {
      const key = keyOf(message);
      const known = held.get(key);
      if (known) {
        known.message = message; // its handler is still at work: not a reason to hand it over twice
        return;
      }
      timer ??= setInterval(keepAlive, ackWaitMs / 3);
      const entry: Held = { message, work: Promise.resolve() };
      held.set(key, entry);
      entry.work = receiver
        .receive({
          locationId: locationOfSubject(message.subject),
          data: message.data,
          attempt: message.info.deliveryCount,
          acknowledge: () => entry.message.ack(),
          giveBack: (afterMs) => entry.message.nak(afterMs),
          discard: () => entry.message.term(),
        })
        .then(() => release(key));
    },
    count: () => held.size,
    async fewerThan(limit) {
      if (held.size < limit || stopped) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting = { limit, resolve };
      await promise;
    },
    stopWaiting() {
      stopped = true;
      waiting?.resolve();
    },
    async settled() {
      await Promise.all([...held.values()].map(({ work }) => work));
    },
  };
}

// The time is part of it because a stream that was made anew counts from 1 again.
const keyOf = ({ info }: JsMsg): string => `${info.streamSequence}@${info.timestampNanos}`;
