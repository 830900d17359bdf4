// Holds the messages that a consumer works on: keeps them alive, and hands each over once.
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
  readonly most: Load;
}

/** What a consumer holds, or may hold. */
interface Load {
  readonly messages: number;
  readonly bytes: number;
}

interface Held {
  /** The newest delivery of the message. */
  message: JsMsg;
  work: Promise<void>;
}

// Refilling after every few messages would cost about one request per message.
const REFILL_BELOW = 0.75;

export function createHeldMessages<T>(options: HeldMessagesOptions<T>) {
  const { ackWaitMs, link, read, receiver, most } = options;
  const held = new Map<string, Held>();
  let bytes = 0;
  let waiting: PromiseWithResolvers<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const keepAlive = (): void => {
    if (link.fault() !== undefined) return;
    for (const { message } of held.values()) message.working();
  };

  /** Whether less than this share of the maximum is held. */
  const isBelow = (share: number): boolean =>
    held.size < share * most.messages && bytes < share * most.bytes;

  function release(key: string, { message }: Held): void {
    held.delete(key);
    bytes -= message.data.length;
    if (held.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    if (isBelow(REFILL_BELOW)) waiting?.resolve();
  }

  return {
    /** Hands the message over; if its handler is already running, only keeps the newer delivery. */
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
      bytes += message.data.length;
      entry.work = receiver.receive(received.content, attempt).then((isHandled) => {
        if (isHandled) entry.message.ack();
        else entry.message.nak(retryDelayMs(attempt));
        release(key, entry);
      });
    },
    count: () => held.size,
    /** Resolves when there is room, after a full load below `REFILL_BELOW`, or at `stopWaiting`. */
    async room(): Promise<void> {
      if (isBelow(1)) return;
      waiting = Promise.withResolvers();
      await waiting.promise;
    },
    stopWaiting: (): void => waiting?.resolve(),
    /** Resolves when all are handled. */
    async settled(): Promise<void> {
      await Promise.all([...held.values()].map(({ work }) => work));
    },
  };
}

// Includes the time, because a recreated stream counts from 1 again.
const keyOf = ({ info }: JsMsg): string => `${info.streamSequence}@${info.timestampNanos}`;
