// Reports in the spool because the bus is away: whose ticks still wait for it, and when they are
// delivered from there.
import type { Bus } from "../../bus/bus.ts";
import type { RunReport } from "../../model/result.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { AgentMetrics } from "../metrics.ts";
import type { Batch, Waiting } from "./report-batches.ts";
import { createSpoolDelivery } from "./spool-delivery.ts";
import type { Spool } from "./spool.ts";

/** Resolves what is in the spool as soon as the bus can be told. */
export interface SpooledReports {
  /** Delivers what an earlier process left. */
  begin(): void;
  /**
   * While the bus is away, stores reports that it was not offered yet; false when they are to be
   * offered to it.
   */
  divert(line: Batch): boolean;
  /**
   * Stores a batch that is offered to the bus, which is taken for away from now on; returns whether
   * the spool has it. Its delivery from there does not begin before it has `ended`: the bus may
   * take it yet.
   */
  putAside(batch: Batch): boolean;
  /** For a batch that the bus took when offered: its reports are resolved, and leave the spool. */
  taken(batch: Batch): void;
  /** For a batch that is offered no more, taken or not. */
  ended(batch: Batch): void;
  /** From now on nothing that is in the spool waits for the bus. */
  finish(): void;
  /** Delivers no more. */
  end(): void;
}

export interface SpooledReportsSettings {
  readonly bus: Bus;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
  /** Without one, nothing is stored. */
  readonly spool?: Spool;
  /** Told of the reports that the bus has taken from the spool. */
  readonly onDelivered?: (report: RunReport) => void;
}

export function createSpooledReports(settings: SpooledReportsSettings): SpooledReports {
  const { bus, metrics, spool, onDelivered } = settings;
  const unacknowledged = createUnacknowledged(bus);
  /** Those that are in the spool as well as offered to the bus. */
  const doubled = new Set<Batch>();
  let away = false;

  const delivery =
    spool &&
    createSpoolDelivery({
      ...settings,
      spool,
      onAttempt(taken) {
        away = taken === undefined;
        for (const report of taken ?? []) onDelivered?.(report);
        unacknowledged.settle(!away);
      },
    });

  /** What is offered to the bus already is delivered from the spool only if it is not taken. */
  const wake = (): void => {
    if (doubled.size === 0) delivery?.wake();
  };

  const put = (batch: Batch): boolean => {
    if (!spool?.put(batch.map(({ report }) => report))) return false;
    metrics.unpublishedReports.dec(batch.length);
    unacknowledged.add(batch);
    return true;
  };

  return {
    begin: wake,
    divert(line) {
      if (!away || !put(line)) return false;
      wake();
      return true;
    },
    putAside(batch) {
      away = true;
      if (!doubled.has(batch) && put(batch)) doubled.add(batch);
      return doubled.has(batch);
    },
    taken(batch) {
      away = false;
      if (doubled.has(batch)) spool?.remove(batch.map(({ report }) => report.run_id));
      for (const { resolve } of batch) resolve();
      unacknowledged.settle(true);
    },
    ended(batch) {
      if (!doubled.delete(batch)) metrics.unpublishedReports.dec(batch.length);
      wake();
    },
    finish: () => unacknowledged.finish(),
    end: () => delivery?.stop(),
  };
}

/** What is in the spool, until the bus can be told that the ticks are done with. */
function createUnacknowledged(bus: Bus) {
  const spooled: Waiting[] = [];
  let finishing = false;
  /** A bus that took reports just now can be told, whatever else is wrong with it. */
  const settle = (hasTaken = false): void => {
    if (!finishing && !hasTaken && !bus.status().connected) return;
    for (const { resolve } of spooled.splice(0)) resolve();
  };
  return {
    add(batch: Batch): void {
      spooled.push(...batch);
      settle();
    },
    settle,
    finish(): void {
      finishing = true;
      settle();
    },
  };
}
