// Runs of ticks: held until they are due, made when there is a place, counted while they last.
import type { RunReport } from "../model/result.ts";
import type { Tick } from "../model/tick.ts";
import type { Clock } from "../runtime/clock.ts";
import type { AgentMetrics } from "./metrics.ts";
import { createSemaphore } from "../runtime/semaphore.ts";
import type { Semaphore } from "../runtime/semaphore.ts";
import type { TickRunner } from "./run-tick.ts";
import type { RunControl } from "./run-workflow.ts";

export interface DueRunsSettings {
  readonly clock: Clock;
  readonly runner: TickRunner;
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

export interface DueRuns {
  /** Rejects with the reason of the hold's signal, and of `cancel`. */
  run(tick: Tick, hold: Hold): Promise<RunReport>;
  /** Ends the runs in flight. */
  cancel(reason: Error): void;
  inFlight(): number;
}

export function createDueRuns(settings: DueRunsSettings): DueRuns {
  const { clock, metrics } = settings;
  const slots = createSemaphore(settings.concurrency);
  const cancelled = new AbortController();
  let inFlight = 0;

  return {
    async run(tick, { signal, onStart }) {
      metrics.heldTicks.inc();
      try {
        await clock.waitUntil(tick.due_time, signal);
        await slots.acquire(signal);
      } finally {
        metrics.heldTicks.dec();
      }
      onStart();
      metrics.inFlightRuns.set((inFlight += 1));
      const place = createPlace(slots, cancelled.signal);
      try {
        const control = { cancel: cancelled.signal, aside: place.aside };
        return await runInTime(tick, settings, control);
      } finally {
        metrics.inFlightRuns.set((inFlight -= 1));
        place.leave();
      }
    },
    cancel: (reason) => cancelled.abort(reason),
    inFlight: () => inFlight,
  };
}

/** That of a run, which has taken it. */
function createPlace(slots: Semaphore, cancel: AbortSignal) {
  let isTaken = true;
  const leave = (): void => {
    if (isTaken) slots.release();
    isTaken = false;
  };
  /** A run that waits leaves its place to others, and takes one again. */
  const aside = async (wait: () => Promise<void>): Promise<void> => {
    leave();
    await wait();
    await slots.acquire(cancel);
    isTaken = true;
  };
  return { leave, aside };
}

/** What cannot start in time is not run late. */
async function runInTime(
  tick: Tick,
  { clock, runner, metrics }: DueRunsSettings,
  control: RunControl,
): Promise<RunReport> {
  const now = clock.now();
  if (now > tick.latest_start) return runner.miss(tick);
  metrics.startLateness.observe(Math.max(0, now - tick.due_time) / 1000);
  return runner.run(tick, control);
}
