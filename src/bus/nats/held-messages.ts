// The messages that a consumer works on: kept alive meanwhile, each handed over once.
import type { JsMsg } from "@nats-io/jetstream";
import type { Receiver } from "../delivery.ts";
import type { NatsLink } from "./connection.ts";
import { locationOfSubject } from "./topology.ts";

export interface HeldMessagesOptions {
  readonly link: NatsLink;
  readonly ackWaitMs: number;
}

interface Held {
  /** The newest delivery of the message. */
  message: JsMsg;
  work: Promise<void>;
}

export function createHeldMessages({ ackWaitMs, link }: HeldMessagesOptions) {
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
    /** Hands the message over, or, while its handler works already, keeps its newer delivery. */
    take(message: JsMsg, receiver: Receiver): void {
      const key = keyOf(message);
      const known = held.get(key);
      if (known) return void (known.message = message);
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
    /** Resolves when fewer than `limit` messages are held, or at `stopWaiting`. */
    async fewerThan(limit: number): Promise<void> {
      if (held.size < limit || stopped) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting = { limit, resolve };
      await promise;
    },
    stopWaiting(): void {
      stopped = true;
      waiting?.resolve();
    },
    /** Resolves when all are handled. */
    async settled(): Promise<void> {
      await Promise.all([...held.values()].map(({ work }) => work));
    },
  };
}

// With the time, because a recreated stream counts from 1 again.
const keyOf = ({ info }: JsMsg): string => `${info.streamSequence}@${info.timestampNanos}`;
