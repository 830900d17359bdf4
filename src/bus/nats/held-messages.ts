// Holds the messages that a consumer works on: keeps them alive meanwhile, and hands each over
// once.
import type { JsMsg } from "@nats-io/jetstream";
import { retryDelayMs } from "../../runtime/retry.ts";
import type { Receiver } from "../delivery.ts";
import type { NatsLink } from "./connection.ts";
import type { Received } from "./opener.ts";

export interface HeldMessagesOptions<T> {
  readonly link: NatsLink;
  readonly ackWaitMs: number;
  readonly read: (message: JsMsg) => Received<T>;
  readonly receiver: Receiver<T>;
}

interface Held {
  /** The newest delivery of the message. */
  message: JsMsg;
  work: Promise<void>;
}

export function createHeldMessages<T>(options: HeldMessagesOptions<T>) {
  const { ackWaitMs, link, read, receiver } = options;
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
    /** Hands the message over; if its handler is already at work, only keeps the newer delivery. */
    take(message: JsMsg): void {
      const key = keyOf(message);
      const known = held.get(key);
      if (known) return void (known.message = message);
      const attempt = message.info.deliveryCount;
      const received = read(message);
      if (received === "drop") return message.term();
      if (received === "give back") return message.nak(retryDelayMs(attempt));
      timer ??= setInterval(keepAlive, ackWaitMs / 3);
      const entry: Held = { message, work: Promise.resolve() };
      held.set(key, entry);
      entry.work = receiver.receive(received.content, attempt).then((isHandled) => {
        if (isHandled) entry.message.ack();
        else entry.message.nak(retryDelayMs(attempt));
        release(key);
      });
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

// Includes the time, because a recreated stream counts from 1 again.
const keyOf = ({ info }: JsMsg): string => `${info.streamSequence}@${info.timestampNanos}`;
