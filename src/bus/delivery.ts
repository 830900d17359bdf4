// What becomes of a message that an adapter took: decoded or dropped, handled, then acknowledged or
// given back.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "../runtime/logger.ts";
import type { Heartbeat } from "../model/location.ts";
import type { HeartbeatHandler } from "./bus.ts";
import { redeliveryDelayMs } from "./bus.ts";
import { decodeHeartbeat } from "./codec.ts";

export type MessageKind = "ticks" | "reports" | "heartbeat";

export interface Delivery {
  readonly locationId: string;
  readonly data: Uint8Array;
  /** 1 at first. */
  readonly attempt: number;
  acknowledge(): void;
  giveBack(afterMs: number): void;
  /** Never to come again. */
  discard(): void;
}

export interface Receiver {
  /** Resolves when the message is acknowledged, given back or discarded; never rejects. */
  receive(delivery: Delivery): Promise<void>;
  /**
   * No more is going to be received: nothing waits to be gathered, and what is not handled now is
   * given back.
   */
  stop(): void;
}

export interface Handling<T> {
  readonly kind: MessageKind;
  readonly decode: (data: Uint8Array, locationId: string) => T;
  readonly handler: (content: T) => Promise<void>;
  readonly log: Logger;
  readonly onDropped: (kind: MessageKind) => void;
}

export function receiveEach<T>(handling: Handling<T>): Receiver {
  const stopped = new AbortController();
  return {
    async receive(delivery) {
      const content = decodeOrDiscard(handling, delivery);
      if (content === undefined) return;
      const { attempt } = delivery;
      const handled = await isHandled(handling, content, attempt, stopped.signal);
      if (handled) delivery.acknowledge();
      else delivery.giveBack(redeliveryDelayMs(delivery.attempt));
    },
    stop: () => stopped.abort(),
  };
}

/** How long the first of a batch waits for others. */
const GATHER_MS = 20;

// A message that was rejected this often comes alone, so that it cannot hold up what it was batched
// with for ever.
const ATTEMPTS_IN_COMPANY = 3;

/** One batch is handled at a time; while they are rejected, the pauses between them grow. */
export function receiveInBatches<T>(handling: Handling<readonly T[]>, maxItems: number): Receiver {
  const gathered: Gathered<T>[] = [];
  const stopped = new AbortController();
  let working = false;

  const pause = (ms: number): Promise<void> =>
    delay(ms, undefined, { signal: stopped.signal }).catch(() => undefined);

  async function work(): Promise<void> {
    working = true;
    let rejections = 0;
    while (gathered.length > 0) {
      if (countItems(gathered) < maxItems) await pause(GATHER_MS);
      const batch = takeBatch(gathered, maxItems);
      const items = batch.flatMap((entry) => entry.items);
      const attempt = batch[0]?.delivery.attempt ?? 1;
      const handled = await isHandled(handling, items, attempt);
      for (const entry of batch) settle(entry, handled);
      rejections = handled ? 0 : rejections + 1;
      if (handled) continue;
      await pause(redeliveryDelayMs(rejections));
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

export interface Listener {
  /** Resolves when it is handled; never rejects. */
  tell(locationId: string, data: Uint8Array, answer: (hubTime: number) => void): Promise<void>;
  /** Resolves when what was told is handled. */
  settled(): Promise<void>;
}

/** For heartbeats, which are told once: they are not kept, and do not come again. */
export function createListener(
  handler: HeartbeatHandler,
  handling: Pick<Handling<Heartbeat>, "log" | "onDropped">,
): Listener {
  const underWay = new Set<Promise<void>>();
  const nothing = (): void => undefined;
  return {
    tell(locationId, data, answer) {
      const receiver = receiveEach({
        ...handling,
        kind: "heartbeat",
        decode: decodeHeartbeat,
        handler: (heartbeat) => handler(heartbeat, answer),
      });
      const work = receiver.receive({
        locationId,
        data,
        attempt: 1,
        acknowledge: nothing,
        giveBack: nothing,
        discard: nothing,
      });
      underWay.add(work);
      void work.then(() => underWay.delete(work));
      return work;
    },
    async settled() {
      await Promise.all(underWay);
    },
  };
}

interface Gathered<T> {
  readonly items: readonly T[];
  readonly delivery: Delivery;
  readonly settled: () => void;
}

const countItems = (entries: readonly Gathered<unknown>[]): number =>
  entries.reduce((count, { items }) => count + items.length, 0);

function takeBatch<T>(gathered: Gathered<T>[], maxItems: number): Gathered<T>[] {
  let [taken, count] = [0, 0];
  for (const { items, delivery } of gathered) {
    const alone = delivery.attempt > ATTEMPTS_IN_COMPANY;
    if (taken > 0 && (alone || count + items.length > maxItems)) break;
    taken += 1;
    count += items.length;
    if (alone) break;
  }
  return gathered.splice(0, taken);
}

function settle({ delivery, settled }: Gathered<unknown>, ok: boolean): void {
  if (ok) delivery.acknowledge();
  else delivery.giveBack(redeliveryDelayMs(delivery.attempt));
  settled();
}

async function isHandled<T>(
  { kind, handler, log }: Handling<T>,
  content: T,
  attempt: number,
  stopped?: AbortSignal,
): Promise<boolean> {
  try {
    await handler(content);
    return true;
  } catch (cause) {
    // Who stops gives back what it has not begun: nothing to look into.
    const level = stopped?.aborted ? "debug" : "warn";
    log[level]({ err: cause, kind, attempt }, "message was rejected");
    return false;
  }
}

function decodeOrDiscard<T>(
  { kind, decode, log, onDropped }: Handling<T>,
  delivery: Delivery,
): T | undefined {
  try {
    return decode(delivery.data, delivery.locationId);
  } catch (cause) {
    const { locationId, data } = delivery;
    log.error(
      { err: cause, kind, location_id: locationId, bytes: data.length },
      "message was dropped",
    );
    onDropped(kind);
    delivery.discard();
    return undefined;
  }
}
