// Each tick once in this process: held until due, run when there is a place, its report kept and published.
import type { RunReport } from "../model/result.ts";
import type { Tick } from "../model/tick.ts";
import type { Clock } from "../runtime/clock.ts";
import type { KeptReports } from "./kept-reports.ts";
import type { AgentMetrics } from "./metrics.ts";
import type { ReportPublisher } from "./report-publisher.ts";
import { createRunSlots } from "./run-slots.ts";
import type { RunSlots } from "./run-slots.ts";
import type { TickRunner } from "./run-tick.ts";
import type { RunControl } from "./run-workflow.ts";

export interface TickRunsSettings {
  readonly clock: Clock;
  readonly runner: TickRunner;
  readonly publisher: ReportPublisher;
  readonly kept: KeptReports;
  readonly metrics: AgentMetrics;
  /** Runs made at a time. */
  readonly concurrency: number;
}

/** The hold that a message has on its ticks before they start. */
export interface Hold {
  /** Aborted to let go of the ticks that have not started. */
  readonly signal: AbortSignal;
  readonly onStart: () => void;
}

export interface TickRuns {
  /**
   * Resolves when the report is published (`ReportPublisher.publish`). A tick that comes again joins the run under way;
   * one that has run is not run again.
   */
  deliver(tick: Tick, hold: Hold): Promise<void>;
  /** Ends the runs in flight; their deliveries reject with the reason. */
  cancel(reason: Error): void;
  inFlight(): number;
}

export function createTickRuns(settings: TickRunsSettings): TickRuns {
  const { clock, publisher, kept, metrics } = settings;
  const slots = createRunSlots(settings.concurrency);
  const underWay = new Map<string, Promise<void>>();
  const cancelled = new AbortController();
  let inFlight = 0;

  const run = async (tick: Tick, { signal, onStart }: Hold) => {
    metrics.heldTicks.inc();
    try {
      await clock.waitUntil(tick.due_time, signal);
      await slots.take(signal);
    } finally {
      metrics.heldTicks.dec();
    }
    onStart();
    metrics.inFlightRuns.set((inFlight += 1));
    const place = createPlace(slots, cancelled.signal);
    try {
      return await runInTime(tick, settings, {
        cancel: cancelled.signal,
        aside: place.aside,
      });
    } finally {
      metrics.inFlightRuns.set((inFlight -= 1));
      place.leave();
    }
  };

  const runAndCount = async (tick: Tick, hold: Hold): Promise<RunReport> => {
    const report = await run(tick, hold);
    const { results, workflow } = report;
    for (const { meta } of workflow && results.length === 0
      ? [workflow]
      : results)
      metrics.runs.inc({ result: meta.result });
    return report;
  };

  const publish = async (report: RunReport): Promise<void> => {
    try {
      await publisher.publish(report);
      kept.published(report.run_id);
    } catch (cause) {
      kept.keep(report);
      throw cause;
    }
  };

  const answer = async (tick: Tick, hold: Hold): Promise<void> => {
    const known = kept.find(tick.result_id);
    if (known) metrics.repeatedTicks.inc();
    if (known === "published") return;
    await publish(known ?? (await runAndCount(tick, hold)));
  };

  return {
    deliver(tick, hold) {
      const running = underWay.get(tick.result_id);
      if (running) {
        metrics.repeatedTicks.inc();
        return running;
      }
      const delivery = answer(tick, hold).finally(() =>
        underWay.delete(tick.result_id),
      );
      underWay.set(tick.result_id, delivery);
      return delivery;
    },
    cancel: (reason) => cancelled.abort(reason),
    inFlight: () => inFlight,
  };
}

/** That of a run, which has taken it. */
function createPlace(slots: RunSlots, cancel: AbortSignal) {
  let isTaken = true;
  const leave = (): void => {
    if (isTaken) slots.release();
    isTaken = false;
  };
  /** A run that waits leaves its place to others, and takes one again. */
  const aside = async (wait: () => Promise<void>): Promise<void> => {
    leave();
    await wait();
    await slots.take(cancel);
    isTaken = true;
  };
  return { leave, aside };
}

/** What cannot start in time is not run late. */
async function runInTime(
  tick: Tick,
  { clock, runner, metrics }: TickRunsSettings,
  control: RunControl,
): Promise<RunReport> {
  const now = clock.now();
  if (now > tick.latest_start) return runner.miss(tick);
  metrics.startLateness.observe(Math.max(0, now - tick.due_time) / 1000);
  return runner.run(tick, control);
}
