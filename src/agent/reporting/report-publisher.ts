// Reports on their way to the bus: offered to it, and kept, in the spool where there is one, until
// it has them.
import { setTimeout as delay } from "node:timers/promises";
import { redeliveryDelayMs } from "../../bus/bus.ts";
import { isUnavailable } from "../../model/errors.ts";
import type { RunReport } from "../../model/result.ts";
import { publishFitting } from "./publish-fitting.ts";
import type { FittingSettings } from "./publish-fitting.ts";
import { createReportBatches } from "./report-batches.ts";
import type { Batch } from "./report-batches.ts";
import { createSpooledReports } from "./spooled-reports.ts";
import type { SpooledReportsSettings } from "./spooled-reports.ts";

/**
 * While the bus takes reports, nothing is written to disk. A report that it has not taken after
 * `SPOOL_AFTER_MS` goes to the spool, and the others straight after it, until the bus takes one
 * again. So a process that is killed loses the reports of its last three seconds or so: such a tick
 * was not acknowledged, and is run again while it is timely.
 */
export interface ReportPublisher {
  /** Delivers what an earlier process left in the spool, which is open. */
  begin(): void;
  /**
   * Resolves when the tick can be acknowledged: the bus has stored the report, or the spool has and
   * the bus can be told, or the bus can never carry it, which is logged. For as long as neither
   * takes it, it is tried again.
   */
  publish(report: RunReport): Promise<void>;
  /** From now on a report that is in the spool waits for nothing. */
  finish(): void;
  /** Rejects what neither bus nor spool has taken, with the reason. */
  abandon(reason: Error): void;
  /** Delivers no more from the spool. */
  end(): void;
}

/** Longer than the bus gives one attempt: over a bad line, the answer to it comes in time. */
const SPOOL_AFTER_MS = 3000;

export function createReportPublisher(settings: SpooledReportsSettings): ReportPublisher {
  const spooled = createSpooledReports(settings);
  const abandoned = new AbortController();

  const send = async (batch: Batch): Promise<void> => {
    const putAside = (): boolean => {
      const inSpool = spooled.putAside(batch);
      batches.flush();
      return inSpool;
    };
    const slow = setTimeout(putAside, SPOOL_AFTER_MS);
    const reports = batch.map(({ report }) => report);
    try {
      if (await offer(reports, settings, putAside, abandoned.signal)) spooled.taken(batch);
    } catch (cause) {
      for (const { reject } of batch) reject(cause);
    }
    clearTimeout(slow);
    spooled.ended(batch);
  };

  const batches = createReportBatches({
    divert: (line) => spooled.divert(line),
    send,
  });

  return {
    begin: () => spooled.begin(),
    publish(report) {
      settings.metrics.unpublishedReports.inc();
      return new Promise((resolve, reject) => batches.add({ report, resolve, reject }));
    },
    finish: () => spooled.finish(),
    abandon(reason) {
      abandoned.abort(reason);
      batches.flush();
    },
    end: () => spooled.end(),
  };
}

/**
 * Until the bus takes the reports, or `putAside` says that they are safe: then false. Rejects when
 * the bus refuses them for another reason than its absence, and with the signal's reason.
 */
async function offer(
  reports: readonly RunReport[],
  settings: FittingSettings,
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
      log.warn({ err: cause, reports: reports.length, spooled }, "reports not taken by the bus");
      if (spooled) return false;
    }
    await pause(redeliveryDelayMs(failures), abandoned);
  }
}

/** Ends early when the signal is aborted. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms, undefined, { signal }).catch(() => undefined);
