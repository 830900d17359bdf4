// Publishes reports to the bus in batches, and spools them while the bus is unavailable.
import { isFull, isUnavailable } from "../../model/errors.ts";
import type { RunReport } from "../../model/result.ts";
import { createGathering } from "../../runtime/gathering.ts";
import { retry } from "../../runtime/retry.ts";
import type { KeptReports } from "./kept-reports.ts";
import { jsonLength, publishFitting } from "./report-size.ts";
import type { FittingSettings } from "./report-size.ts";
import { createSpoolDelivery } from "./spool-delivery.ts";
import type { Batch, Waiting } from "./spool-delivery.ts";
import type { Spool } from "./spool.ts";

export interface ReportPublisherSettings extends FittingSettings {
  /** Without one, reports wait in memory. */
  readonly spool?: Spool;
  readonly kept: KeptReports;
}

export type ReportPublisher = ReturnType<typeof createReportPublisher>;

const BATCH_REPORTS = 50;
/** Maximum JSON text of a batch beyond its first report: encoding blocks the thread. */
const BATCH_LENGTH = 128 * 1024;
const LONGEST_GATHER_MS = 250;
/** Batches in flight: over 1000 reports a second at a round trip of 600 ms. */
const PIPELINED = 16;
/** Longer than one attempt of the bus, so its answer arrives in time even over a bad line. */
const SPOOL_AFTER_MS = 3000;

/**
 * While the bus accepts reports, nothing is written to disk. A report not accepted within
 * `SPOOL_AFTER_MS` goes to the spool, as do those behind it, until the bus accepts one again. A
 * killed process thus loses at most the reports of its last three seconds: their ticks were not
 * acknowledged, and run again while they are timely.
 */
export function createReportPublisher(settings: ReportPublisherSettings) {
  const { metrics, spool } = settings;
  const abandoned = new AbortController();
  const delivery = spool && createSpoolDelivery({ ...settings, spool });

  const putAside = (batch: Batch): boolean => {
    batch.spooled = delivery?.putAside(batch) ?? false;
    line.flush();
    return batch.spooled;
  };
  const taken = ({ waiting, spooled }: Batch): void => {
    if (spooled) spool?.remove(waiting.map(({ report }) => report.run_id));
    for (const { resolve } of waiting) resolve();
    delivery?.accepted();
  };
  const send = async (batch: Batch): Promise<void> => {
    const { waiting } = batch;
    const slow = setTimeout(() => putAside(batch), SPOOL_AFTER_MS);
    try {
      if (await offer(batch, settings, putAside, abandoned.signal)) taken(batch);
    } catch (cause) {
      for (const { reject } of waiting) reject(cause);
    }
    clearTimeout(slow);
    if (batch.spooled) delivery?.offerEnded();
    else metrics.unpublishedReports.dec(waiting.length);
  };
  const line = createLine((waiting) => delivery?.divert(waiting) ?? false, send);

  return {
    /** Delivers reports that an earlier process left in the spool. Open the spool first. */
    begin: () => delivery?.wake(),
    /**
     * Retries until the tick can be acknowledged, then resolves: the bus has stored the report; or
     * the spool has, and the bus is connected; or it is too large for any message, which is logged.
     */
    publish(report: RunReport): Promise<void> {
      metrics.unpublishedReports.inc();
      return new Promise((resolve, reject) => line.add({ report, resolve, reject }));
    },
    /** From now on, no `publish` of a spooled report waits for the bus. */
    finish: () => delivery?.finish(),
    /** Rejects, with the reason, each report that neither the bus nor the spool has accepted. */
    abandon(reason: Error): void {
      abandoned.abort(reason);
      line.flush();
    },
    /** Stops the delivery from the spool. */
    end: () => delivery?.stop(),
  };
}

/**
 * Gathers reports into batches and sends up to `PIPELINED` at a time. Before sending, it offers
 * waiting reports to `divert`, which returns whether it accepted them: a few at a time, since it
 * may refuse repeatedly. `send` never rejects.
 */
function createLine(
  divert: (waiting: readonly Waiting[]) => boolean,
  send: (batch: Batch) => Promise<void>,
) {
  const line: Waiting[] = [];
  const gathering = createGathering(LONGEST_GATHER_MS);
  let timer: NodeJS.Timeout | undefined;
  let underWay = 0;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    while (line.length > 0 && divert(line.slice(0, BATCH_REPORTS))) line.splice(0, BATCH_REPORTS);
    if (line.length > 0) gathering.gathered(line.length);
    while (line.length > 0 && underWay < PIPELINED) {
      underWay += 1;
      const batch = { waiting: line.splice(0, batchSize(line)), spooled: false };
      // Each in its own turn of the event loop: calls proceed in between.
      setImmediate(() => {
        void send(batch).finally(() => {
          underWay -= 1;
          if (!timer) flush(); // otherwise they wait for others
        });
      });
    }
  };
  return {
    add(waiting: Waiting): void {
      line.push(waiting);
      if (line.length >= BATCH_REPORTS) flush();
      else timer ??= setTimeout(flush, gathering.ms(line.length));
    },
    /** Sends without waiting for a full batch. */
    flush,
  };
}

/** Returns how many of the first reports make a batch. */
function batchSize(line: readonly Waiting[]): number {
  let length = 0;
  const end = line
    .slice(0, BATCH_REPORTS)
    .findIndex(({ report }, at) => (length += jsonLength(report)) > BATCH_LENGTH && at > 0);
  return end === -1 ? BATCH_REPORTS : end;
}

/**
 * Retries until the bus has accepted the batch (resolves with true) or the spool has (with false).
 * Rejects if the bus refuses the batch, and with the signal's reason.
 */
const offer = (
  batch: Batch,
  settings: FittingSettings,
  putAside: (batch: Batch) => boolean,
  signal: AbortSignal,
): Promise<boolean> =>
  retry(
    async () => {
      const reports = batch.waiting.map(({ report }) => report);
      try {
        await publishFitting(settings, reports);
        return true;
      } catch (cause) {
        if (!isUnavailable(cause)) throw cause;
        settings.metrics.publishRetries.inc();
        const spooled = putAside(batch);
        const facts = { err: cause, reports: reports.length, spooled };
        if (!isFull(cause)) settings.log.warn(facts, "bus did not accept reports"); // it logs that once
        if (spooled) return false;
        throw cause;
      }
    },
    { signal, isRetryable: isUnavailable },
  );
