// Holds the messages that a consumer works on: keeps them alive, and hands each over once.
import type { JsMsg } from "@nats-io/jetstream";
import { retryDelayMs } from "../../runtime/retry.ts";
import { loadOf } from "../bus.ts";
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
  isStarted: boolean;
}

// Refilling after every few messages would cost about one request per message.
const REFILL_BELOW = 0.75;

export function createHeldMessages<T>(options: HeldMessagesOptions<T>) {
  const { ackWaitMs, link, read, receiver, most } = options;
  const held = new Map<string, Held>();
  const room = createRoom(most);
  let timer: NodeJS.Timeout | undefined;

  const keepAlive = (): void => {
    if (link.fault() !== undefined) return;
    for (const { message } of held.values()) message.working();
  };
  function start(entry: Held): void {
    if (!entry.isStarted) room.start();
    entry.isStarted = true;
  }
  function release(key: string, { message, isStarted }: Held): void {
    held.delete(key);
    if (held.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    room.remove(message.data.length, isStarted);
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
      const entry: Held = { message, work: Promise.resolve(), isStarted: false };
      held.set(key, entry);
      room.add(message.data.length);
      const { content } = received;
      entry.work = receiver
        .receive(content, attempt, () => start(entry))
        .then((isHandled) => {
          if (isHandled) entry.message.ack();
          else entry.message.nak(retryDelayMs(attempt));
          release(key, entry);
        });
    },
    room,
    /** Resolves when all are handled. */
    async settled(): Promise<void> {
      await Promise.all([...held.values()].map(({ work }) => work));
    },
  };
}

/** Counts what is held against the most that may be. */
function createRoom(most: Load) {
  let [messages, started, bytes] = [0, 0, 0];
  let waiting: PromiseWithResolvers<void> | undefined;
  const load = (): number => loadOf(messages, started);
  /** Whether less than this share of the maximum is held. */
  const isBelow = (share: number): boolean =>
    load() < share * most.messages && bytes < share * most.bytes;
  const refill = (): void => {
    if (isBelow(REFILL_BELOW)) waiting?.resolve();
  };
  return {
    add(size: number): void {
      messages += 1;
      bytes += size;
    },
    start(): void {
      started += 1;
      refill();
    },
    remove(size: number, isStarted: boolean): void {
      messages -= 1;
      bytes -= size;
      if (isStarted) started -= 1;
      refill();
    },
    /** How many more may be taken: at least one once there is room. */
    left: (): number => Math.ceil(most.messages - load()),
    /** Resolves when there is room, after a full load below `REFILL_BELOW`, or at `stopWaiting`. */
    wait: async (): Promise<void> => {
      if (isBelow(1)) return;
      waiting = Promise.withResolvers();
      await waiting.promise;
    },
    stopWaiting: (): void => waiting?.resolve(),
  };
}

// Includes the time, because a recreated stream counts from 1 again.
const keyOf = ({ info }: JsMsg): string => `${info.streamSequence}@${info.timestampNanos}`;
