// The bus within one process: queues in memory that keep the promises of the port.
import { unavailable } from "../model/errors.ts";
import { locationIdValidator } from "../model/location.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Bus, Consumer } from "./bus.ts";
import { DEDUPLICATION_WINDOW_MS, REPORT_MAX_AGE_MS, TICK_MAX_AGE_MS } from "./bus.ts";
import type { EncodedMessage } from "./codec.ts";
import { encodeHeartbeat, encodeReports, encodeTicks, locationOf } from "./codec.ts";
import type { MessageKind, Observer, Receiver } from "./delivery.ts";
import { receiveReports, receiveTicks } from "./delivery.ts";
import { createHeartbeatLine, createHeartbeatListener } from "./heartbeats.ts";

export type InProcessBusOptions = { readonly clock: Clock } & Pick<Observer, "log"> &
  Partial<Observer>;

export function createInProcessBus({
  clock,
  log,
  onDropped = () => undefined,
}: InProcessBusOptions): Bus {
  const observer = { log, onDropped };
  const ticks = new Map<string, Queue>();
  const reports = createQueue({ clock, ...observer, kind: "reports", maxAgeMs: REPORT_MAX_AGE_MS });
  const heartbeats = createHeartbeatLine();
  let closing: Promise<void> | undefined;

  function ticksOf(locationId: string): Queue {
    const options = { clock, ...observer, kind: "ticks", maxAgeMs: TICK_MAX_AGE_MS } as const;
    const queue = ticks.get(locationId) ?? createQueue(options);
    ticks.set(locationId, queue);
    return queue;
  }
  function publish(queue: Queue, messages: readonly EncodedMessage[], locationId: string): void {
    if (closing) throw unavailable("the bus is closed", { part: "the bus" });
    for (const message of messages) queue.publish(message, locationId);
  }
  async function close(): Promise<void> {
    const parts = [heartbeats, reports, ...ticks.values()];
    await Promise.all(parts.map((part) => part.close()));
  }

  return {
    durable: false,
    async publishTicks(batch) {
      if (batch.length === 0) return;
      const locationId = locationOf(batch);
      publish(ticksOf(locationId), encodeTicks(batch).messages, locationId);
    },
    consumeTicks: async (locationId, handler) =>
      ticksOf(locationIdValidator.parse(locationId)).attach(receiveTicks(handler, observer)),
    async publishReports(batch) {
      if (batch.length === 0) return;
      publish(reports, encodeReports(batch).messages, locationOf(batch));
    },
    consumeReports: async (handler) => reports.attach(receiveReports(handler, observer)),
    reportsSafe: () => reports.emptied(),
    sendHeartbeat: async (heartbeat) =>
      heartbeats.send(locationOf([heartbeat]), encodeHeartbeat(heartbeat)),
    consumeHeartbeats: async (handler) =>
      heartbeats.attach(createHeartbeatListener(handler, observer)),
    status: () => ({
      connected: !closing,
      detail: closing ? "in this process, closed" : "in this process",
    }),
    announcedServers: () => [],
    close: () => (closing ??= close()),
  };
}

interface Message {
  readonly locationId: string;
  readonly data: Uint8Array;
  /** By the monotonic clock. */
  readonly storedAt: number;
  /** Deliveries so far. */
  readonly attempts: number;
}

interface Taker {
  readonly receiver: Receiver;
  readonly underWay: Set<Promise<void>>;
}

interface QueueOptions extends Observer {
  readonly clock: Clock;
  readonly kind: MessageKind;
  /** Older messages are dropped. */
  readonly maxAgeMs: number;
}

/** Messages that one consumer may hold at a time; agents hold ticks until they are due. */
const MAX_UNDER_WAY = 1000;

type Queue = ReturnType<typeof createQueue>;

/** The messages of one subject, and the consumers that share them. */
function createQueue(options: QueueOptions) {
  const { clock } = options;
  const backlog = createBacklog(options, pumpSoon);
  const isDuplicate = createDeduplication();
  // The one whose last message is the oldest is in front.
  const takers = new Set<Taker>();
  const onEmpty = new Set<() => void>();
  let [isPumping, isClosed] = [false, false];

  // In a turn of its own: handlers do not hold up the publisher.
  function pumpSoon(): void {
    if (!isPumping) setImmediate(pump);
    isPumping = true;
  }
  function pump(): void {
    isPumping = false;
    for (let taker = idlest(takers); taker; taker = idlest(takers)) {
      const message = backlog.take(clock.monotonic());
      if (!message) return;
      takers.delete(taker);
      takers.add(taker);
      void hand(message, taker, backlog).then(resolveIfEmpty).then(pumpSoon);
    }
  }
  function resolveIfEmpty(): void {
    const isBusy = [...takers].some(({ underWay }) => underWay.size > 0);
    if (!isClosed && (isBusy || !backlog.isEmpty())) return;
    for (const resolve of onEmpty) resolve();
    onEmpty.clear();
  }

  return {
    /** Does nothing when a message with this id was published within the window. */
    publish({ id, data }: EncodedMessage, locationId: string): void {
      const now = clock.monotonic();
      if (!isDuplicate(id, now)) backlog.add({ locationId, data, storedAt: now, attempts: 0 }, now);
    },
    attach(receiver: Receiver): Consumer {
      const taker: Taker = { receiver, underWay: new Set() };
      takers.add(taker);
      pumpSoon();
      return { drain: () => drain(taker, takers) };
    },
    /** Resolves when no message waits, is being handled or is to be redelivered. */
    emptied(): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      onEmpty.add(resolve);
      resolveIfEmpty();
      return promise;
    },
    /** Drains the consumers and forgets the messages. */
    async close(): Promise<void> {
      isClosed = true;
      backlog.close();
      resolveIfEmpty();
      await Promise.all([...takers].map((taker) => drain(taker, takers)));
    },
  };
}

/** Resolves when the message is handled, or back in the backlog. */
async function hand(message: Message, taker: Taker, backlog: Backlog): Promise<void> {
  const attempts = message.attempts + 1;
  const work = taker.receiver.receive({
    ...message,
    attempt: attempts,
    acknowledge: () => undefined,
    discard: () => undefined,
    giveBack: (afterMs) => backlog.addLater({ ...message, attempts }, afterMs),
  });
  taker.underWay.add(work);
  await work;
  taker.underWay.delete(work);
}

async function drain(taker: Taker, takers: Set<Taker>): Promise<void> {
  takers.delete(taker);
  taker.receiver.stop();
  await Promise.all(taker.underWay);
}

const idlest = (takers: ReadonlySet<Taker>): Taker | undefined =>
  [...takers]
    .filter(({ underWay }) => underWay.size < MAX_UNDER_WAY)
    .toSorted((a, b) => a.underWay.size - b.underWay.size)[0];

type Backlog = ReturnType<typeof createBacklog>;

/** The messages that wait for a consumer, or for their redelivery. */
function createBacklog(
  { clock, log, onDropped, kind, maxAgeMs }: QueueOptions,
  onAdded: () => void,
) {
  const waiting = new Set<Message>();
  const timers = new Set<NodeJS.Timeout>();
  let isClosed = false;

  const expireIfOld = (message: Message, now: number): boolean => {
    if (now - message.storedAt <= maxAgeMs) return false;
    waiting.delete(message);
    log.warn({ kind }, "message dropped: it expired before a consumer took it");
    onDropped(kind);
    return true;
  };
  const add = (message: Message, now: number): void => {
    if (isClosed) return;
    // Without a consumer, messages pile up: the oldest are in front.
    for (const oldest of waiting) if (!expireIfOld(oldest, now)) break;
    waiting.add(message);
    onAdded();
  };

  return {
    add,
    addLater(message: Message, afterMs: number): void {
      if (isClosed) return;
      const timer = setTimeout(() => {
        timers.delete(timer);
        add(message, clock.monotonic());
      }, afterMs);
      timers.add(timer);
    },
    /** The message that waits for longest and has not expired. */
    take(now: number): Message | undefined {
      for (const message of waiting)
        if (!expireIfOld(message, now)) {
          waiting.delete(message);
          return message;
        }
      return undefined;
    },
    isEmpty: () => waiting.size === 0 && timers.size === 0,
    /** Forgets every message, and those added from now on. */
    close(): void {
      isClosed = true;
      waiting.clear();
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}

function createDeduplication() {
  const seen = new Map<string, number>();
  return (id: string, now: number): boolean => {
    for (const [known, at] of seen) {
      if (at >= now - DEDUPLICATION_WINDOW_MS) break;
      seen.delete(known);
    }
    if (seen.has(id)) return true;
    seen.set(id, now);
    return false;
  };
}
