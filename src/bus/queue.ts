// A queue in memory: the messages of one subject, and the consumers that share them.
import type { Clock } from "../runtime/clock.ts";
import { retryDelayMs } from "../runtime/retry.ts";
import type { Consumer } from "./bus.ts";
import { DEDUPLICATION_WINDOW_MS, loadOf, MAX_UNDER_WAY } from "./bus.ts";
import type { ItemKind, Observer, Receiver } from "./delivery.ts";

interface Message<T> {
  readonly items: readonly T[];
  /** By the monotonic clock. */
  readonly storedAt: number;
  /** Deliveries so far. */
  readonly attempts: number;
}

interface Taker<T> {
  readonly receiver: Receiver<readonly T[]>;
  readonly underWay: Set<Promise<void>>;
  /** Those under way whose runs have all started. */
  readonly started: Set<Message<T>>;
}

interface QueueOptions<T> extends Observer {
  readonly clock: Clock;
  readonly kind: ItemKind;
  /** Older messages are dropped. */
  readonly maxAgeMs: number;
  /** Identifies the message of the items: the same each time they are published. */
  readonly keyOf: (items: readonly T[]) => string;
}

export type Queue<T> = ReturnType<typeof createQueue<T>>;

export function createQueue<T>(options: QueueOptions<T>) {
  const { clock, keyOf } = options;
  /** When each unfinished message was stored, keyed by its items, oldest first. */
  const open = new Map<readonly T[], number>();
  const forget = ({ items }: Message<T>): void => void open.delete(items);
  const backlog = createBacklog(options, pumpSoon, forget);
  const isDuplicate = createDeduplication();
  // Least recently served first.
  const takers = new Set<Taker<T>>();
  const { emptied, look } = createEmptied(
    () => backlog.isEmpty() && [...takers].every(({ underWay }) => underWay.size === 0),
  );
  let isPumping = false;

  // Pumps in its own turn of the event loop: handlers must not hold up the publisher.
  function pumpSoon(): void {
    if (!isPumping) setImmediate(pump);
    isPumping = true;
  }
  function pump(): void {
    isPumping = false;
    for (let taker = idlest(takers); taker; taker = idlest(takers)) {
      const message = backlog.take();
      if (!message) return;
      takers.delete(taker);
      takers.add(taker);
      void hand(message, taker, pumpSoon, backlog, forget).then(look).then(pumpSoon);
    }
  }

  return {
    open: open as ReadonlyMap<readonly T[], number>,
    /** Returns when the oldest waiting message was stored. */
    oldestWaiting: () => backlog.oldest(),
    /** Does nothing when the same items were published within the window. */
    publish(items: readonly T[]): void {
      const now = clock.monotonic();
      if (isDuplicate(keyOf(items), now)) return;
      const message = { items: items.map(freeze), storedAt: now, attempts: 0 };
      open.set(message.items, now);
      backlog.add(message);
    },
    attach(receiver: Receiver<readonly T[]>): Consumer {
      const taker: Taker<T> = { receiver, underWay: new Set(), started: new Set() };
      takers.add(taker);
      pumpSoon();
      return { drain: () => drain(taker, takers) };
    },
    /** Resolves when no message is waiting, being handled or due for redelivery. */
    emptied,
    /** Drains the consumers and forgets the messages. */
    async close(): Promise<void> {
      backlog.close();
      await Promise.all([...takers].map((taker) => drain(taker, takers)));
      look();
    },
  };
}

/** Lets callers wait for an empty queue: call `look` whenever it may be empty. */
function createEmptied(isEmpty: () => boolean) {
  const waiting = new Set<() => void>();
  const look = (): void => {
    if (!isEmpty()) return;
    for (const resolve of waiting) resolve();
    waiting.clear();
  };
  return {
    look,
    emptied: (): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.add(resolve);
      look();
      return promise;
    },
  };
}

/** Resolves when the message is handled or back in the backlog. */
async function hand<T>(
  message: Message<T>,
  taker: Taker<T>,
  onStarted: () => void,
  backlog: Backlog<T>,
  onDone: (message: Message<T>) => void,
): Promise<void> {
  const attempts = message.attempts + 1;
  const started = (): void => {
    taker.started.add(message);
    onStarted();
  };
  const work = taker.receiver.receive(message.items, attempts, started).then((isHandled) => {
    if (isHandled) onDone(message);
    else backlog.addLater({ ...message, attempts }, retryDelayMs(attempts));
  });
  taker.underWay.add(work);
  await work;
  taker.underWay.delete(work);
  taker.started.delete(message);
}

async function drain<T>(taker: Taker<T>, takers: Set<Taker<T>>): Promise<void> {
  takers.delete(taker);
  taker.receiver.stop();
  await Promise.all(taker.underWay);
}

const loadOfTaker = <T>({ underWay, started }: Taker<T>): number =>
  loadOf(underWay.size, started.size);

const idlest = <T>(takers: ReadonlySet<Taker<T>>): Taker<T> | undefined =>
  [...takers]
    .filter((taker) => loadOfTaker(taker) < MAX_UNDER_WAY)
    .toSorted((a, b) => loadOfTaker(a) - loadOfTaker(b))[0];

type Backlog<T> = ReturnType<typeof createBacklog<T>>;

/** The messages that wait for a consumer or for redelivery. */
function createBacklog<T>(
  { clock, log, onDropped, kind, maxAgeMs }: QueueOptions<T>,
  onAdded: () => void,
  onExpired: (message: Message<T>) => void,
) {
  const waiting = new Set<Message<T>>();
  let [later, isClosed] = [0, false];

  const expireIfOld = (message: Message<T>): boolean => {
    if (clock.monotonic() - message.storedAt <= maxAgeMs) return false;
    waiting.delete(message);
    onExpired(message);
    log.warn({ kind }, "message dropped: expired before consumption");
    onDropped?.(kind);
    return true;
  };
  const add = (message: Message<T>): void => {
    if (isClosed) return;
    // Without a consumer, messages pile up, oldest first.
    for (const oldest of waiting) if (!expireIfOld(oldest)) break;
    waiting.add(message);
    onAdded();
  };

  return {
    add,
    addLater(message: Message<T>, afterMs: number): void {
      later += 1;
      setTimeout(() => {
        later -= 1;
        add(message);
      }, afterMs).unref();
    },
    /** Takes the longest-waiting message that has not expired. */
    take(): Message<T> | undefined {
      for (const message of waiting)
        if (!expireIfOld(message) && waiting.delete(message)) return message;
      return undefined;
    },
    oldest: (): number | undefined => waiting.values().next().value?.storedAt,
    isEmpty: () => isClosed || waiting.size + later === 0,
    /** Forgets every message, and any added from now on. */
    close(): void {
      isClosed = true;
      waiting.clear();
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

function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) freeze(part);
  return Object.freeze(value);
}
