// The agent's intake: messages of ticks from the bus. Each tick is held until it is due, run once
// in this process, and reported; its message is done when all of its ticks are. A redelivered tick
// joins its run, or is answered with the report that was kept.
import type { RunReport } from "../model/result.ts";
import type { Tick } from "../model/tick.ts";
import { isUncertain } from "../model/timing.ts";
import type { ReportedTiming } from "../model/timing.ts";
import type { Clock } from "../runtime/clock.ts";
import { createSemaphore } from "../runtime/semaphore.ts";
import type { AgentMetrics } from "./metrics.ts";
import type { ReportPublisher } from "./reporting/report-publisher.ts";
import { jsonLength } from "./reporting/report-size.ts";
import type { Spool } from "./reporting/spool.ts";
import { missTick, runTick } from "./run-tick.ts";
import type { RunControl, RunSettings } from "./run-tick.ts";

export interface IntakeSettings extends RunSettings {
  readonly metrics: AgentMetrics;
  readonly publisher: ReportPublisher;
  readonly kept: KeptReports;
  /** Maximum runs at a time. */
  readonly concurrency: number;
}

interface Message {
  /** Whether one of its ticks has started. */
  started: boolean;
  /** Ends the wait of its held ticks. */
  readonly release: AbortController;
}

export function createIntake(settings: IntakeSettings) {
  const { kept, metrics } = settings;
  const cancelled = new AbortController();
  const runs = createRuns(settings, cancelled.signal);
  const messages = new Set<Message>();
  /** By `result_id`: ticks whose report is not published yet. */
  const underWay = new Map<string, Promise<void>>();
  let stopping = false;

  async function handle(tick: Tick, message: Message): Promise<void> {
    const known = kept.find(tick.result_id);
    if (known) metrics.repeatedTicks.inc();
    if (known === "published") return;
    await publish(settings, known ?? (await runs.run(tick, message)));
  }

  function handleOnce(tick: Tick, message: Message): Promise<void> {
    const running = underWay.get(tick.result_id);
    if (running) {
      metrics.repeatedTicks.inc();
      return running;
    }
    const handling = handle(tick, message).finally(() => underWay.delete(tick.result_id));
    underWay.set(tick.result_id, handling);
    return handling;
  }

  return {
    /**
     * Takes the ticks of one message. Resolves when all their reports are published
     * (`ReportPublisher.publish`); rejects, once every tick has ended, when the message must be
     * redelivered.
     */
    async take(ticks: readonly Tick[]): Promise<void> {
      const message: Message = { started: false, release: new AbortController() };
      messages.add(message);
      if (stopping) giveBack(message);
      const ends = await Promise.allSettled(ticks.map((tick) => handleOnce(tick, message)));
      messages.delete(message);
      for (const end of ends) if (end.status === "rejected") throw end.reason as Error;
    },
    /**
     * Gives back all messages without a started run, now and from now on. The others finish:
     * redelivered, their started ticks would run a second time.
     */
    stop(): void {
      stopping = true;
      for (const message of messages) if (!message.started) giveBack(message);
    },
    /** Ends the runs in flight and gives back all messages. */
    cancel(): void {
      for (const message of messages) giveBack(message);
      cancelled.abort(new Error("the agent stopped before the run ended"));
    },
    inFlight: runs.inFlight,
  };
}

const giveBack = ({ release }: Message): void => release.abort(new Error("the agent is stopping"));

async function publish({ publisher, kept }: IntakeSettings, report: RunReport): Promise<void> {
  try {
    await publisher.publish(report);
    kept.published(report.run_id);
  } catch (cause) {
    kept.keep(report); // for the tick's redelivery
    throw cause;
  }
}

/** Holds each tick until it is due and a place is free, then runs it. */
function createRuns(settings: IntakeSettings, cancel: AbortSignal) {
  const { clock, metrics, concurrency } = settings;
  const places = createSemaphore(concurrency);
  let inFlight = 0;

  async function hold(tick: Tick, { release: { signal } }: Message): Promise<void> {
    metrics.heldTicks.inc();
    try {
      await clock.waitUntil(tick.due_time, signal);
      await places.acquire(signal);
    } finally {
      metrics.heldTicks.dec();
    }
  }

  return {
    /** Rejects with the reason of `message.release` or `cancel`. */
    async run(tick: Tick, message: Message): Promise<RunReport> {
      await hold(tick, message);
      message.started = true;
      metrics.inFlightRuns.set((inFlight += 1));
      let hasPlace = true;
      const withoutPlace = async (wait: () => Promise<void>): Promise<void> => {
        places.release();
        hasPlace = false;
        await wait();
        await places.acquire(cancel);
        hasPlace = true;
      };
      try {
        return await runInTime(settings, tick, { cancel, withoutPlace });
      } finally {
        metrics.inFlightRuns.set((inFlight -= 1));
        if (hasPlace) places.release();
      }
    },
    inFlight: () => inFlight,
  };
}

async function runInTime(
  settings: IntakeSettings,
  tick: Tick,
  control: RunControl,
): Promise<RunReport> {
  const { clock, metrics } = settings;
  const now = clock.now();
  const isTooLate = now > tick.latest_start;
  if (!isTooLate) metrics.startLateness.observe(Math.max(0, now - tick.due_time) / 1000);
  const report = isTooLate ? missTick(settings, tick) : await runTick(settings, tick, control);
  const { results, workflow } = report;
  for (const { meta } of workflow && results.length === 0 ? [workflow] : results)
    metrics.runs.inc({ result: meta.result });
  for (const { timing } of results) countUncertainty(metrics, timing);
  return report;
}

function countUncertainty(metrics: AgentMetrics, timing: ReportedTiming): void {
  const { uncertainty = null } = timing;
  if (uncertainty !== null) metrics.timingUncertainty.observe(uncertainty / 1000);
  if (isUncertain(timing)) metrics.uncertainResults.inc();
}

// A message is redelivered some tens of seconds after its acknowledgement was lost.
const KEEP_MS = 120_000;
const MAX_PUBLISHED = 100_000;
/** Characters of JSON text. */
const MAX_LENGTH = 64 * 1024 * 1024;

export type KeptReports = ReturnType<typeof createKeptReports>;

/** The outcome of recent runs. `spool` has those of earlier processes, too. */
export function createKeptReports(clock: Clock, spool?: Spool) {
  const published = createRecent<"published">(clock, MAX_PUBLISHED, () => 1);
  const reports = createRecent<RunReport>(clock, MAX_LENGTH, jsonLength);
  return {
    /** The report, still to be published, or that it is published. */
    find: (runId: string): RunReport | "published" | undefined =>
      published.get(runId) ?? reports.get(runId) ?? spool?.find(runId),
    /** Keeps a report that could not be published. */
    keep: (report: RunReport): void => reports.set(report.run_id, report),
    published(runId: string): void {
      reports.delete(runId);
      published.set(runId, "published");
    },
  };
}

/** Values of the last `KEEP_MS`, the oldest dropped if together they exceed the bound. */
function createRecent<T>(clock: Clock, bound: number, sizeOf: (value: T) => number) {
  interface Entry {
    readonly value: T;
    readonly size: number;
    readonly until: number;
  }
  // A Map iterates in the order of insertion: the oldest first.
  const entries = new Map<string, Entry>();
  let held = 0;
  const remove = (key: string): void => {
    held -= entries.get(key)?.size ?? 0;
    entries.delete(key);
  };
  const evict = (): void => {
    for (const [key, { until }] of entries) {
      if (until > clock.monotonic() && held <= bound) break;
      remove(key);
    }
  };
  return {
    get(key: string): T | undefined {
      const entry = entries.get(key);
      return entry && entry.until > clock.monotonic() ? entry.value : undefined;
    },
    set(key: string, value: T): void {
      remove(key);
      const size = sizeOf(value);
      entries.set(key, { value, size, until: clock.monotonic() + KEEP_MS });
      held += size;
      evict();
    },
    delete(key: string): void {
      remove(key);
      evict();
    },
  };
}
