// Reports on their way to the bus: gathered into batches, and kept, in the spool where there is one, until it has them.
import { setTimeout as delay } from "node:timers/promises";
import type { Bus } from "../bus/bus.ts";
import { redeliveryDelayMs } from "../bus/bus.ts";
import { isUnavailable } from "../model/errors.ts";
import type { RunReport } from "../model/result.ts";
import type { Logger } from "../runtime/logger.ts";
import type { AgentMetrics } from "./metrics.ts";
import { publishFitting } from "./publish-fitting.ts";
import { createSpoolDelivery } from "./spool-delivery.ts";
import type { Spool } from "./spool.ts";

/**
 * While the bus takes reports, nothing is written to disk. A report that it has not taken after `SPOOL_AFTER_MS` goes
 * to the spool, and the others straight after it, until the bus takes one again. So a process that is killed loses
 * the reports of its last three seconds or so: such a tick was not acknowledged, and is run again while it is timely.
 */
export interface ReportPublisher {
  /** Delivers what an earlier process left in the spool, which is open. */
  begin(): void;
  /**
   * Resolves when the tick can be acknowledged: the bus has stored the report, or the spool has and the bus can be
   * told, or the bus can never carry it, which is logged. For as long as neither takes it, it is tried again.
   */
  publish(report: RunReport): Promise<void>;
  /** From now on a report that is in the spool waits for nothing. */
  finish(): void;
  /** Rejects what neither bus nor spool has taken, with the reason. */
  abandon(reason: Error): void;
  /** Delivers no more from the spool. */
  end(): void;
}

export interface PublisherSettings {
  readonly bus: Bus;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
  /** Without one, reports wait in memory. */
  readonly spool?: Spool;
  /** Told of the reports that the bus has taken from the spool. */
  readonly onDelivered?: (report: RunReport) => void;
}

interface Waiting {
  readonly report: RunReport;
  readonly resolve: () => void;
  readonly reject: (cause: unknown) => void;
}

const BATCH_REPORTS = 50;
const GATHER_MS = 20;
/**
 * Batches under way at a time: over 1000 reports in a second where an answer takes 600 ms. While the bus is away and
 * nothing can be spooled, the others wait in line.
 */
const PIPELINED = 16;
/** Longer than the bus gives one attempt: over a bad line, the answer to it comes in time. */
const SPOOL_AFTER_MS = 3000;

export function createReportPublisher(
  settings: PublisherSettings,
): ReportPublisher {
  const { bus, metrics, spool, onDelivered } = settings;
  const queue: Waiting[] = [];
  const spooled: Waiting[] = [];
  const abandoned = new AbortController();
  let gathering: NodeJS.Timeout | undefined;
  /** Batches that are offered to the bus, and those of them that are in the spool as well. */
  let [underWay, doubled] = [0, 0];
  let [away, finishing] = [false, false];

  /** A bus that took reports just now can be told, whatever else is wrong with it. */
  const settleSpooled = (hasTaken = false): void => {
    if (!finishing && !hasTaken && !bus.status().connected) return;
    for (const { resolve } of spooled.splice(0)) resolve();
  };

  const delivery =
    spool &&
    createSpoolDelivery({
      ...settings,
      spool,
      onAttempt(taken) {
        away = taken === undefined;
        for (const report of taken ?? []) onDelivered?.(report);
        settleSpooled(!away);
      },
    });

  const toSpool = (batch: readonly Waiting[]): boolean => {
    if (!spool?.put(batch.map(({ report }) => report))) return false;
    metrics.unpublishedReports.dec(batch.length);
    spooled.push(...batch);
    settleSpooled();
    return true;
  };

  /** What is offered to the bus already is delivered from the spool only if it is not taken. */
  const wakeDelivery = (): void => {
    if (doubled === 0) delivery?.wake();
  };

  const flush = (): void => {
    clearTimeout(gathering);
    gathering = undefined;
    if (away && queue.length > 0 && toSpool(queue)) {
      queue.length = 0;
      wakeDelivery();
    }
    while (queue.length > 0 && underWay < PIPELINED) {
      underWay += 1;
      void send(queue.splice(0, BATCH_REPORTS)).finally(() => {
        underWay -= 1;
        flush();
      });
    }
  };

  const send = async (batch: readonly Waiting[]): Promise<void> => {
    let inSpool = false;
    const putAside = (): boolean => {
      away = true;
      if (!inSpool && toSpool(batch)) {
        inSpool = true;
        doubled += 1;
      }
      flush();
      return inSpool;
    };
    const slow = setTimeout(putAside, SPOOL_AFTER_MS);
    const reports = batch.map(({ report }) => report);
    try {
      const taken = await offer(reports, settings, putAside, abandoned.signal);
      if (taken) {
        away = false;
        if (inSpool) spool?.remove(reports.map(({ run_id }) => run_id));
        for (const { resolve } of batch) resolve();
        settleSpooled(true);
      }
    } catch (cause) {
      for (const { reject } of batch) reject(cause);
    }
    clearTimeout(slow);
    if (inSpool) doubled -= 1;
    else metrics.unpublishedReports.dec(batch.length);
    wakeDelivery();
  };

  return {
    begin: wakeDelivery,
    publish(report) {
      metrics.unpublishedReports.inc();
      return new Promise((resolve, reject) => {
        queue.push({ report, resolve, reject });
        if (queue.length >= BATCH_REPORTS) flush();
        else gathering ??= setTimeout(flush, GATHER_MS);
      });
    },
    finish() {
      finishing = true;
      settleSpooled();
    },
    abandon(reason) {
      abandoned.abort(reason);
      flush();
    },
    end: () => delivery?.stop(),
  };
}

/**
 * Until the bus takes the reports, or `putAside` says that they are safe: then false. Rejects when the bus refuses them
 * for another reason than its absence, and with the signal's reason.
 */
async function offer(
  reports: readonly RunReport[],
  settings: PublisherSettings,
  putAside: () => boolean,
  abandoned: AbortSignal,
): Promise<boolean> {
  const { log, metrics } = settings;
  for (let failures = 1; ; failures += 1) {
    abandoned.throwIfAborted();
    try {
      await publishFitting(settings, reports);
      return true;
    } catch (cause) {
      if (!isUnavailable(cause)) throw cause;
      metrics.publishRetries.inc();
      const spooled = putAside();
      log.warn(
        { err: cause, reports: reports.length, spooled },
        "reports not taken by the bus",
      );
      if (spooled) return false;
    }
    await pause(redeliveryDelayMs(failures), abandoned);
  }
}

/** Ends early when the signal is aborted. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms, undefined, { signal }).catch(() => undefined);
