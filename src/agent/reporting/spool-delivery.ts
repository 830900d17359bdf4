// Delivers the spool to the bus: oldest reports first, one batch at a time, paced to let fresh
// reports through.
import type { AgentBus } from "../../bus/bus.ts";
import { halvesOf } from "../../model/chunks.ts";
import { isFull, isUnavailable } from "../../model/errors.ts";
import type { RunReport } from "../../model/result.ts";
import { systemClock } from "../../runtime/clock.ts";
import { retryDelayMs } from "../../runtime/retry.ts";
import type { KeptReports } from "./kept-reports.ts";
import { publishFitting } from "./report-size.ts";
import type { FittingSettings } from "./report-size.ts";
import type { Spool } from "./spool.ts";

/** A report, and the callbacks that settle its tick. */
export interface Waiting {
  readonly report: RunReport;
  readonly resolve: () => void;
  readonly reject: (cause: unknown) => void;
}

export interface Batch {
  readonly waiting: readonly Waiting[];
  /** Whether it is in the spool too. */
  spooled: boolean;
}

export interface SpoolDeliverySettings extends FittingSettings {
  readonly spool: Spool;
  readonly kept: KeptReports;
}

/** At most 5000 reports a second. */
const PACE_MS = 20;

/** Resolves a spooled report's tick as soon as the bus can acknowledge the tick. */
export function createSpoolDelivery(settings: SpoolDeliverySettings) {
  const { spool, metrics } = settings;
  const stopped = new AbortController();
  const unacknowledged = createUnacknowledged(settings.bus);
  /** Whether the bus did not accept the latest reports. */
  let away = false;
  /** Spooled batches that the bus may still accept directly. */
  let offered = 0;
  let running = false;

  const store = (waiting: readonly Waiting[]): boolean => {
    if (!spool.put(waiting.map(({ report }) => report))) return false;
    metrics.unpublishedReports.dec(waiting.length);
    unacknowledged.add(waiting);
    return true;
  };
  const attempted = (isAvailable: boolean): void => {
    away = !isAvailable;
    unacknowledged.settle(isAvailable);
  };
  const wake = (): void => {
    if (running || offered > 0 || stopped.signal.aborted) return;
    running = true;
    void deliverAll(settings, attempted, stopped.signal).finally(() => {
      running = false;
      if (spool.size()) wake(); // added meanwhile
    });
  };

  return {
    /** Delivers the spool, and reports added meanwhile; does nothing during a delivery. */
    wake,
    /** Stores fresh reports while the bus is away. Returns whether it did. */
    divert(waiting: readonly Waiting[]): boolean {
      if (!away || !store(waiting)) return false;
      wake();
      return true;
    },
    /**
     * Stores a batch that the bus has not accepted; returns whether the spool has it. The bus may
     * still accept it, so no delivery begins until `offerEnded`.
     */
    putAside({ waiting, spooled }: Readonly<Batch>): boolean {
      away = true;
      if (spooled || !store(waiting)) return spooled;
      offered += 1;
      return true;
    },
    offerEnded(): void {
      offered -= 1;
      wake();
    },
    /** The bus has accepted reports: it is available, whatever its status. */
    accepted: (): void => void (away && attempted(true)),
    /** From now on, no spooled report waits for the bus. */
    finish: () => unacknowledged.finish(),
    /** Does not wait for the bus: the next process may redeliver what the bus accepts now. */
    stop: () => stopped.abort(),
  };
}

/** Spooled reports whose ticks wait for the bus to acknowledge them. */
function createUnacknowledged(bus: AgentBus) {
  const all: Waiting[] = [];
  let finishing = false;
  const settle = (isAvailable: boolean): void => {
    if (!finishing && !isAvailable && !bus.status().connected) return;
    for (const { resolve } of all.splice(0)) resolve();
  };
  return {
    add(waiting: readonly Waiting[]): void {
      all.push(...waiting);
      settle(false);
    },
    settle,
    finish(): void {
      finishing = true;
      settle(false);
    },
  };
}

/** Resolves when the spool is empty or the signal aborts. */
async function deliverAll(
  settings: SpoolDeliverySettings,
  attempted: (isAvailable: boolean) => void,
  signal: AbortSignal,
): Promise<void> {
  const { spool, kept, log } = settings;
  let [delivered, failures] = [0, 0];
  while (spool.size() !== 0 && !signal.aborted) {
    const reports = spool.oldest();
    const taken = reports.length > 0 ? await deliver(settings, reports) : undefined;
    for (const { run_id } of taken ?? []) kept.published(run_id);
    if (reports.length > 0) attempted(taken !== undefined);
    if (taken) spool.remove(reports.map(({ run_id }) => run_id));
    delivered += taken?.length ?? 0;
    failures = taken ? 0 : failures + 1;
    const pauseMs = taken ? PACE_MS : retryDelayMs(failures);
    await systemClock.pause(pauseMs, signal).catch(() => undefined);
  }
  if (delivered > 0) log.info({ reports: delivered }, "spooled reports delivered");
}

/** Resolves with the reports that the bus has accepted; undefined if it is unavailable. */
async function deliver(
  settings: SpoolDeliverySettings,
  reports: readonly RunReport[],
): Promise<readonly RunReport[] | undefined> {
  try {
    return await publish(settings, reports);
  } catch (cause) {
    const { spool, log, metrics } = settings;
    metrics.publishRetries.inc();
    if (!isFull(cause))
      log.warn({ err: cause, reports: spool.size() }, "bus did not accept spooled reports");
    return undefined;
  }
}

/** Drops what the bus can never accept. Rejects if it is unavailable. */
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
    if (reports.length > 1) {
      // A refused report must not hold up the others.
      const taken: RunReport[] = [];
      for (const half of halvesOf(reports)) taken.push(...(await publish(settings, half)));
      return taken;
    }
    log.error({ err: cause }, "spooled report dropped: the bus rejected it");
    metrics.spoolDropped.inc({ reason: "refused" });
    return [];
  }
}
