// Passes messages to handlers: ticks one message at a time, reports in batches.
import type { RunReport } from "../model/result.ts";
import type { Tick } from "../model/tick.ts";
import { systemClock } from "../runtime/clock.ts";
import { createGathering } from "../runtime/gathering.ts";
import type { Gathering } from "../runtime/gathering.ts";
import type { Logger } from "../runtime/logger.ts";
import { retryDelayMs } from "../runtime/retry.ts";
import { MAX_REPORTS_PER_BATCH } from "./bus.ts";
import type { TickHandler } from "./bus.ts";

/** The items of messages that are kept until they are handled. */
export const ITEM_KINDS = ["ticks", "reports"] as const;
export type ItemKind = (typeof ITEM_KINDS)[number];

export const MESSAGE_KINDS = [...ITEM_KINDS, "heartbeat", "credentials request"] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];

/** Passes messages to a handler. */
export interface Receiver<T> {
  /**
   * `attempt`: 1 for the first delivery. Resolves with true when the message is done; with false,
   * deliver it again after `retryDelayMs(attempt)`. Never rejects. `started`: see `TickHandler`.
   */
  receive(content: T, attempt: number, started: () => void): Promise<boolean>;
  /** No message follows: stops gathering, and gives back what its handler then rejects. */
  stop(): void;
}

/** Observes failing messages. */
export interface Observer {
  readonly log: Logger;
  /** Called for each message that could not be decoded or was not consumed in time. */
  readonly onDropped?: (kind: MessageKind) => void;
}

/** Handles each message by itself. */
export function createTickReceiver(
  handler: TickHandler,
  { log }: Observer,
): Receiver<readonly Tick[]> {
  let isStopped = false;
  return {
    async receive(ticks, attempt, started) {
      try {
        await handler(ticks, started);
        return true;
      } catch (err) {
        // A stopping consumer gives back what it has not started: that is not a fault.
        log[isStopped ? "debug" : "warn"]({ err, kind: "ticks", attempt }, "message rejected");
        return false;
      }
    },
    stop: () => void (isStopped = true),
  };
}

const LONGEST_GATHER_MS = 1000;
/** A batch stops gathering at this many; any others that have arrived still join it. */
const ENOUGH_REPORTS = 1000;

// A message rejected this often is handled alone: it must not hold up others.
const ATTEMPTS_IN_COMPANY = 3;

interface Gathered {
  readonly reports: readonly RunReport[];
  readonly attempt: number;
  readonly settle: (isHandled: boolean) => void;
}

/** Handles one batch at a time; the pauses between rejections grow. */
export function createReportReceiver(
  handler: (reports: readonly RunReport[]) => Promise<void>,
  { log }: Observer,
): Receiver<readonly RunReport[]> {
  const gathered: Gathered[] = [];
  const stopped = new AbortController();
  let enough = new AbortController();
  const gathering = createGathering(LONGEST_GATHER_MS);
  let working = false;

  async function gather(): Promise<void> {
    enough = new AbortController();
    const signal = AbortSignal.any([enough.signal, stopped.signal]);
    await waitForMore(gathered, gathering, signal);
  }
  async function handle(reports: readonly RunReport[], attempt: number): Promise<boolean> {
    try {
      await handler(reports);
      return true;
    } catch (err) {
      log.warn({ err, kind: "reports", attempt }, "message rejected");
      return false;
    }
  }
  async function work(): Promise<void> {
    working = true;
    let rejections = 0;
    while (gathered.length > 0) {
      if (!isAlone(gathered[0])) await gather();
      const batch = takeBatch(gathered);
      const reports = batch.flatMap((entry) => entry.reports);
      const isHandled = await handle(reports, batch[0]?.attempt ?? 1);
      gathering.gathered(reports.length);
      for (const { settle } of batch) settle(isHandled);
      rejections = isHandled ? 0 : rejections + 1;
      if (isHandled) continue;
      await pause(retryDelayMs(rejections), stopped.signal);
      if (stopped.signal.aborted) for (const { settle } of gathered.splice(0)) settle(false);
    }
    working = false;
  }

  return {
    receive(reports, attempt) {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      gathered.push({ reports, attempt, settle: resolve });
      if (countReports(gathered) >= ENOUGH_REPORTS) enough.abort();
      if (!working) void work();
      return promise;
    },
    stop: () => stopped.abort(),
  };
}

/** Resolves when a batch has gathered enough, or long enough, or when the signal aborts. */
async function waitForMore(
  gathered: readonly Gathered[],
  gathering: Gathering,
  signal: AbortSignal,
): Promise<void> {
  const began = systemClock.monotonic();
  while (!signal.aborted) {
    const count = countReports(gathered);
    const left = began + gathering.ms(count) - systemClock.monotonic();
    if (left <= 0 || count >= ENOUGH_REPORTS) return;
    await pause(left, signal);
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  systemClock.pause(ms, signal).catch(() => undefined);

const countReports = (entries: readonly Gathered[]): number =>
  entries.reduce((count, { reports }) => count + reports.length, 0);

const isAlone = (entry: Gathered | undefined): boolean =>
  entry !== undefined && entry.attempt > ATTEMPTS_IN_COMPANY;

function takeBatch(gathered: Gathered[]): Gathered[] {
  let [taken, count] = [0, 0];
  for (const entry of gathered) {
    const { reports } = entry;
    const alone = isAlone(entry);
    if (taken > 0 && (alone || count + reports.length > MAX_REPORTS_PER_BATCH)) break;
    taken += 1;
    count += reports.length;
    if (alone) break;
  }
  return gathered.splice(0, taken);
}
