// Passes messages to handlers: ticks one message at a time, reports in batches.
import { setTimeout as delay } from "node:timers/promises";
import type { RunReport } from "../model/result.ts";
import type { Tick } from "../model/tick.ts";
import { createGathering } from "../runtime/gathering.ts";
import type { Logger } from "../runtime/logger.ts";
import { retryDelayMs } from "../runtime/retry.ts";
import { MAX_REPORTS_PER_BATCH } from "./bus.ts";

export const MESSAGE_KINDS = ["ticks", "reports", "heartbeat", "credentials request"] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];

/** Passes messages to a handler. */
export interface Receiver<T> {
  /**
   * `attempt`: 1 for the first delivery. Resolves with true when the message is done; with false,
   * deliver it again after `retryDelayMs(attempt)`. Never rejects.
   */
  receive(content: T, attempt: number): Promise<boolean>;
  /** No message follows: stops gathering, and gives back what its handler then rejects. */
  stop(): void;
}

/** Observes failing messages. */
export interface Observer {
  readonly log: Logger;
  /** Called for each message that could not be decoded or was not consumed in time. */
  readonly onDropped?: (kind: MessageKind) => void;
}

interface Handling<T> extends Observer {
  readonly kind: MessageKind;
  readonly handler: (content: T) => Promise<void>;
}

export const receiveTicks = (
  handler: (ticks: readonly Tick[]) => Promise<void>,
  observer: Observer,
): Receiver<readonly Tick[]> => receiveEach({ ...observer, kind: "ticks", handler });

export const receiveReports = (
  handler: (reports: readonly RunReport[]) => Promise<void>,
  observer: Observer,
): Receiver<readonly RunReport[]> => receiveInBatches({ ...observer, kind: "reports", handler });

function receiveEach<T>(handling: Handling<T>): Receiver<T> {
  const stopped = new AbortController();
  return {
    receive: (content, attempt) => handle(handling, content, attempt, stopped.signal),
    stop: () => stopped.abort(),
  };
}

const LONGEST_GATHER_MS = 1000;
/** A batch waits for no more than these; what has arrived beyond them still joins it. */
const ENOUGH_ITEMS = 1000;

// A message rejected this often is handled alone: it must not hold up others.
const ATTEMPTS_IN_COMPANY = 3;

interface Gathered<T> {
  readonly items: readonly T[];
  readonly attempt: number;
  readonly settle: (isHandled: boolean) => void;
}

/** Handles one batch at a time; the pauses between rejections grow. */
function receiveInBatches<T>(handling: Handling<readonly T[]>): Receiver<readonly T[]> {
  const gathered: Gathered<T>[] = [];
  const stopped = new AbortController();
  let enough = new AbortController();
  const gathering = createGathering(LONGEST_GATHER_MS);
  let working = false;

  const pause = (ms: number, signal = stopped.signal): Promise<void> =>
    delay(ms, undefined, { signal }).catch(() => undefined);

  async function gather(): Promise<void> {
    enough = new AbortController();
    if (countItems(gathered) < ENOUGH_ITEMS)
      await pause(gathering.ms(), AbortSignal.any([enough.signal, stopped.signal]));
  }
  async function work(): Promise<void> {
    working = true;
    let rejections = 0;
    while (gathered.length > 0) {
      await gather();
      const batch = takeBatch(gathered);
      const items = batch.flatMap((entry) => entry.items);
      const isHandled = await handle(handling, items, batch[0]?.attempt ?? 1);
      gathering.gathered(items.length);
      for (const { settle } of batch) settle(isHandled);
      rejections = isHandled ? 0 : rejections + 1;
      if (isHandled) continue;
      await pause(retryDelayMs(rejections));
      if (stopped.signal.aborted) for (const { settle } of gathered.splice(0)) settle(false);
    }
    working = false;
  }

  return {
    receive(items, attempt) {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      gathered.push({ items, attempt, settle: resolve });
      if (countItems(gathered) >= ENOUGH_ITEMS) enough.abort();
      if (!working) void work();
      return promise;
    },
    stop: () => stopped.abort(),
  };
}

const countItems = (entries: readonly Gathered<unknown>[]): number =>
  entries.reduce((count, { items }) => count + items.length, 0);

function takeBatch<T>(gathered: Gathered<T>[]): Gathered<T>[] {
  let [taken, count] = [0, 0];
  for (const { items, attempt } of gathered) {
    const alone = attempt > ATTEMPTS_IN_COMPANY;
    if (taken > 0 && (alone || count + items.length > MAX_REPORTS_PER_BATCH)) break;
    taken += 1;
    count += items.length;
    if (alone) break;
  }
  return gathered.splice(0, taken);
}

/** Resolves with false when the handler rejects. */
async function handle<T>(
  { kind, handler, log }: Handling<T>,
  content: T,
  attempt: number,
  stopped?: AbortSignal,
): Promise<boolean> {
  try {
    await handler(content);
    return true;
  } catch (cause) {
    // A stopping consumer gives back what it has not started: no fault.
    const level = stopped?.aborted ? "debug" : "warn";
    log[level]({ err: cause, kind, attempt }, "message rejected");
    return false;
  }
}
