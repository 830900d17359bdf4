// Reports on their way to the bus: gathered into batches, and kept until the bus has taken them.
import type { Bus } from "../bus/bus.ts";
import { AppError } from "../model/errors.ts";
import type { RunReport } from "../model/result.ts";
import type { Logger } from "../runtime/logger.ts";
import type { AgentMetrics } from "./metrics.ts";

export interface ReportPublisher {
  /** Resolves when the bus has stored the report; for as long as the bus is unreachable, it is tried again. */
  publish(report: RunReport): Promise<void>;
  /** Rejects what the bus has not taken, with the reason. */
  abandon(reason: Error): void;
}

interface Waiting {
  readonly report: RunReport;
  readonly resolve: () => void;
  readonly reject: (cause: unknown) => void;
}

const BATCH_REPORTS = 50;
const GATHER_MS = 20;
/** Batches under way at a time; while the bus is away, as many probe it and the others wait in line. */
const PIPELINED = 4;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5000;

interface PublisherSettings {
  readonly bus: Bus;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
}

export function createReportPublisher(
  settings: PublisherSettings,
): ReportPublisher {
  const { metrics } = settings;
  const queue: Waiting[] = [];
  let underWay = 0;
  let gathering: NodeJS.Timeout | undefined;
  const abandoned = new AbortController();

  const flush = (): void => {
    clearTimeout(gathering);
    gathering = undefined;
    while (queue.length > 0 && underWay < PIPELINED) {
      underWay += 1;
      void send(queue.splice(0, BATCH_REPORTS)).finally(() => {
        underWay -= 1;
        flush();
      });
    }
  };

  const send = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      const reports = batch.map(({ report }) => report);
      await publishUntilTaken(reports, settings, abandoned.signal);
      for (const { resolve } of batch) resolve();
    } catch (cause) {
      for (const { reject } of batch) reject(cause);
    }
    metrics.unpublishedReports.dec(batch.length);
  };

  return {
    publish(report) {
      metrics.unpublishedReports.inc();
      return new Promise((resolve, reject) => {
        queue.push({ report, resolve, reject });
        if (queue.length >= BATCH_REPORTS) flush();
        else gathering ??= setTimeout(flush, GATHER_MS);
      });
    },
    abandon(reason) {
      abandoned.abort(reason);
      flush();
    },
  };
}

/** Rejects when the bus refuses the reports for another reason than its absence, and with the signal's reason. */
async function publishUntilTaken(
  reports: readonly RunReport[],
  { bus, log, metrics }: PublisherSettings,
  abandoned: AbortSignal,
): Promise<void> {
  for (let wait = FIRST_RETRY_MS; ; wait = Math.min(2 * wait, LAST_RETRY_MS)) {
    abandoned.throwIfAborted();
    try {
      return await bus.publishReports(reports);
    } catch (cause) {
      if (!(cause instanceof AppError) || cause.code !== "unavailable")
        throw cause;
      metrics.publishRetries.inc();
      log.warn(
        { err: cause, reports: reports.length, retry_ms: wait },
        "reports not taken by the bus",
      );
    }
    await pause(wait, abandoned);
  }
}

/** Ends early when the signal is aborted. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
  });
