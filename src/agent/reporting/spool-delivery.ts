// From the spool to the bus: the oldest first, one batch at a time, with pauses that leave the bus
// to fresh reports.
import { setTimeout as delay } from "node:timers/promises";
import type { Bus } from "../../bus/bus.ts";
import { redeliveryDelayMs } from "../../bus/bus.ts";
import { isUnavailable } from "../../model/errors.ts";
import type { RunReport } from "../../model/result.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { AgentMetrics } from "../metrics.ts";
import { publishFitting } from "./publish-fitting.ts";
import type { FittingSettings } from "./publish-fitting.ts";
import type { Spool } from "./spool.ts";

export interface SpoolDelivery {
  /**
   * Delivers what is there, when it can be opened, and what comes meanwhile; does nothing while it
   * is at it.
   */
  wake(): void;
  /** Does not wait for the bus: what it takes now may be delivered again by the next process. */
  stop(): void;
}

export interface SpoolDeliverySettings {
  readonly bus: Bus;
  readonly spool: Spool;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
  /** Told after each attempt what the bus took: undefined when it could not be reached. */
  readonly onAttempt: (taken: readonly RunReport[] | undefined) => void;
}

/** At most 5000 reports in a second. */
const PACE_MS = 20;

export function createSpoolDelivery(settings: SpoolDeliverySettings): SpoolDelivery {
  const { spool, log, metrics, onAttempt } = settings;
  const stopped = new AbortController();
  let running = false;
  /** Since it was woken. */
  let delivered = 0;

  /** False when the bus could not be reached. */
  const deliver = async (reports: readonly RunReport[]): Promise<boolean> => {
    try {
      const taken = await publish(settings, reports);
      onAttempt(taken);
      spool.remove(reports.map(({ run_id }) => run_id));
      delivered += taken.length;
      return true;
    } catch (cause) {
      metrics.publishRetries.inc();
      log.warn({ err: cause, reports: spool.size() }, "spooled reports not taken by the bus");
      onAttempt(undefined);
      return false;
    }
  };

  const pause = (ms: number): Promise<void> =>
    delay(ms, undefined, { signal: stopped.signal }).catch(() => undefined);

  const run = async (): Promise<void> => {
    let failures = 0;
    while (spool.size() !== 0 && !stopped.signal.aborted) {
      const reports = spool.oldest();
      const done = reports.length > 0 && (await deliver(reports));
      failures = done ? 0 : failures + 1;
      await pause(done ? PACE_MS : redeliveryDelayMs(failures));
    }
    running = false;
    if (delivered > 0) log.info({ reports: delivered }, "spooled reports delivered");
    delivered = 0;
  };

  return {
    wake() {
      if (running || stopped.signal.aborted) return;
      running = true;
      void run();
    },
    stop: () => stopped.abort(),
  };
}

/**
 * Returns those that the bus has; the others it never takes. Rejects while it cannot be reached.
 */
async function publish(
  settings: FittingSettings,
  reports: readonly RunReport[],
): Promise<readonly RunReport[]> {
  const { log, metrics } = settings;
  try {
    const never = await publishFitting(settings, reports);
    return reports.filter(({ run_id }) => !never.includes(run_id));
  } catch (cause) {
    if (isUnavailable(cause)) throw cause;
    if (reports.length > 1) return publishHalves(settings, reports);
    log.error({ err: cause }, "spooled report refused: it was dropped");
    metrics.spoolDropped.inc({ reason: "refused" });
    return [];
  }
}

/** So that one that is refused does not hold up the others. */
async function publishHalves(
  settings: FittingSettings,
  reports: readonly RunReport[],
): Promise<readonly RunReport[]> {
  const half = Math.ceil(reports.length / 2);
  const first = await publish(settings, reports.slice(0, half));
  return [...first, ...(await publish(settings, reports.slice(half)))];
}
