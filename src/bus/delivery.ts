// Delivers a message to its handler: decodes or drops it, then acknowledges it or gives it back.
import { setTimeout as delay } from "node:timers/promises";
import type { RunReport } from "../model/result.ts";
import type { Tick } from "../model/tick.ts";
import type { Logger } from "../runtime/logger.ts";
import { retryDelayMs } from "../runtime/retry.ts";
import { MAX_REPORTS_PER_BATCH } from "./bus.ts";
import { decodeReports, decodeTicks } from "./codec.ts";

export type MessageKind = "ticks" | "reports" | "heartbeat";

export interface Delivery {
  readonly locationId: string;
  readonly data: Uint8Array;
  /** 1 for the first delivery. */
  readonly attempt: number;
  acknowledge(): void;
  giveBack(afterMs: number): void;
  /** The message is not delivered again. */
  discard(): void;
}

export interface Receiver {
  /** Resolves when the message is acknowledged, given back or discarded; never rejects. */
  receive(delivery: Delivery): Promise<void>;
  /** No message follows: waits for no others, and gives back what its handler then rejects. */
  stop(): void;
}

/** Sees what goes wrong with messages. */
export interface Observer {
  readonly log: Logger;
  /** Called for each message that could not be decoded, or that nobody took in time. */
  readonly onDropped: (kind: MessageKind) => void;
}

interface Handling<T> extends Observer {
  readonly kind: MessageKind;
  readonly decode: (data: Uint8Array, locationId: string) => T;
  readonly handler: (content: T) => Promise<void>;
}

export const receiveTicks = (
  handler: (ticks: readonly Tick[]) => Promise<void>,
  observer: Observer,
): Receiver => receiveEach({ ...observer, kind: "ticks", decode: decodeTicks, handler });

export const receiveReports = (
  handler: (reports: readonly RunReport[]) => Promise<void>,
  observer: Observer,
): Receiver => receiveInBatches({ ...observer, kind: "reports", decode: decodeReports, handler });

export function receiveEach<T>(handling: Handling<T>): Receiver {
  const stopped = new AbortController();
  return {
    async receive(delivery) {
      const content = decodeOrDiscard(handling, delivery);
      if (content === undefined) return;
      const { attempt } = delivery;
      const isHandled = await handle(handling, content, attempt, stopped.signal);
      if (isHandled) delivery.acknowledge();
      else delivery.giveBack(retryDelayMs(attempt));
    },
    stop: () => stopped.abort(),
  };
}

/** How long the first message of a batch waits for others. */
const GATHER_MS = 20;

// A message that was rejected this often is handled alone, so that it does not hold up others.
const ATTEMPTS_IN_COMPANY = 3;

interface Gathered<T> {
  readonly items: readonly T[];
  readonly delivery: Delivery;
  readonly settled: () => void;
}

/** Handles one batch at a time, of up to 1000 items; the pauses between rejections grow. */
function receiveInBatches<T>(handling: Handling<readonly T[]>): Receiver {
  const gathered: Gathered<T>[] = [];
  const stopped = new AbortController();
  let working = false;

  const pause = (ms: number): Promise<void> =>
    delay(ms, undefined, { signal: stopped.signal }).catch(() => undefined);

  async function work(): Promise<void> {
    working = true;
    let rejections = 0;
    while (gathered.length > 0) {
      if (countItems(gathered) < MAX_REPORTS_PER_BATCH) await pause(GATHER_MS);
      const batch = takeBatch(gathered);
      const items = batch.flatMap((entry) => entry.items);
      const isHandled = await handle(handling, items, batch[0]?.delivery.attempt ?? 1);
      for (const entry of batch) settle(entry, isHandled);
      rejections = isHandled ? 0 : rejections + 1;
      if (isHandled) continue;
      await pause(retryDelayMs(rejections));
      if (stopped.signal.aborted) for (const entry of gathered.splice(0)) settle(entry, false);
    }
    working = false;
  }

  return {
    receive(delivery) {
      const items = decodeOrDiscard(handling, delivery);
      if (items === undefined) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      gathered.push({ items, delivery, settled: resolve });
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
  for (const { items, delivery } of gathered) {
    const alone = delivery.attempt > ATTEMPTS_IN_COMPANY;
    if (taken > 0 && (alone || count + items.length > MAX_REPORTS_PER_BATCH)) break;
    taken += 1;
    count += items.length;
    if (alone) break;
  }
  return gathered.splice(0, taken);
}

function settle({ delivery, settled }: Gathered<unknown>, isHandled: boolean): void {
  if (isHandled) delivery.acknowledge();
  else delivery.giveBack(retryDelayMs(delivery.attempt));
  settled();
}

/** False when the handler rejects. */
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
    // A consumer that stops gives back what it has not started: nothing is wrong.
    const level = stopped?.aborted ? "debug" : "warn";
    log[level]({ err: cause, kind, attempt }, "message rejected");
    return false;
  }
}

function decodeOrDiscard<T>(
  { kind, decode, log, onDropped }: Handling<T>,
  delivery: Delivery,
): T | undefined {
  const { data, locationId } = delivery;
  try {
    return decode(data, locationId);
  } catch (cause) {
    const message = { kind, location_id: locationId, bytes: data.length };
    log.error({ err: cause, ...message }, "message dropped: it cannot be decoded");
    onDropped(kind);
    delivery.discard();
    return undefined;
  }
}
