// The agent's intake of messages of ticks from the bus. Each tick is held until it is due, run once
// in this process, and reported; its message is done when all of its ticks are. A redelivered tick
// joins its run, or is answered with the report that was kept.
import type { RunReport } from "../model/result.ts";
import { startOf } from "../model/tick.ts";
import type { Tick } from "../model/tick.ts";
import { DEFAULT_BEHAVIOUR } from "./http/behaviour.ts";
import type { AgentMetrics } from "./metrics.ts";
import { prepareRun } from "./prepare-run.ts";
import type { Run } from "./prepare-run.ts";
import type { KeptReports } from "./reporting/kept-reports.ts";
import type { ReportPublisher } from "./reporting/report-publisher.ts";
import type { RunLog } from "./run-log.ts";
import { makeRun, missedReport } from "./run-tick.ts";
import type { RunControl, RunSettings } from "./run-tick.ts";
import { createTurns } from "./turns.ts";
import type { Place, Start, Turns } from "./turns.ts";

export interface IntakeSettings extends RunSettings {
  readonly metrics: AgentMetrics;
  readonly runLog: RunLog;
  readonly publisher: ReportPublisher;
  readonly kept: KeptReports;
  /** Maximum runs at a time. */
  readonly concurrency: number;
}

interface Message {
  /** Whether one of its ticks has started. */
  started: boolean;
  /** Why it was given back, if it was. */
  givenBack?: Error;
}

export type Intake = ReturnType<typeof createIntake>;

export function createIntake(settings: IntakeSettings) {
  const { metrics } = settings;
  const runs = createRuns(settings);
  const messages = new Set<Message>();
  /** By `result_id`: ticks whose report is not published yet. */
  const underWay = new Map<string, Promise<void>>();
  let stopping = false;

  function handleOnce(tick: Tick, message: Message): Promise<void> {
    const running = underWay.get(tick.result_id);
    if (running) {
      metrics.repeatedTicks.inc();
      return running;
    }
    const handling = handle(settings, runs, tick, message).finally(() =>
      underWay.delete(tick.result_id),
    );
    underWay.set(tick.result_id, handling);
    return handling;
  }

  const giveBack = (message: Message): void =>
    runs.giveBack(message, new Error("the agent takes no more ticks"));

  return {
    /**
     * Takes the ticks of one message. Resolves when all their reports are published
     * (`ReportPublisher.publish`); rejects, once every tick has ended, when the message must be
     * redelivered.
     */
    async take(ticks: readonly Tick[]): Promise<void> {
      const message: Message = { started: false };
      messages.add(message);
      if (stopping) giveBack(message);
      const ends = await Promise.allSettled(ticks.map((tick) => handleOnce(tick, message)));
      messages.delete(message);
      for (const end of ends) if (end.status === "rejected") throw end.reason as Error;
    },
    /**
     * Gives back every message without a started run, including those that arrive later. The others
     * finish: on redelivery, their started ticks would run a second time.
     */
    stop(): void {
      stopping = true;
      for (const message of messages) if (!message.started) giveBack(message);
    },
    /** Takes messages again. */
    resume(): void {
      stopping = false;
    },
    /** Ends the runs in flight and gives back all messages. */
    cancel(): void {
      runs.cancel();
      for (const message of messages) giveBack(message);
    },
    /** Runs in flight, and ticks that have not started. */
    count: runs.count,
  };
}

async function handle(
  settings: IntakeSettings,
  runs: ReturnType<typeof createRuns>,
  tick: Tick,
  message: Message,
): Promise<void> {
  const known = settings.kept.find(tick.result_id);
  if (known) settings.metrics.repeatedTicks.inc();
  if (known === "published") return;
  await publish(settings, known ?? (await runs.run(tick, message)));
}

async function publish({ publisher, kept }: IntakeSettings, report: RunReport): Promise<void> {
  try {
    await publisher.publish(report);
    kept.published(report.run_id);
  } catch (cause) {
    kept.keep(report); // for the tick's redelivery
    throw cause;
  }
}

/** Holds each run until it is due, a place is free and the thread is on time, then makes it. */
function createRuns(settings: IntakeSettings) {
  const { clock, metrics, concurrency } = settings;
  const turns = createTurns(clock, concurrency);
  const cancelled = new AbortController();
  let [held, inFlight] = [0, 0];

  return {
    /** Rejects with the reason of `giveBack` or `cancel`. */
    async run(tick: Tick, message: Message): Promise<RunReport> {
      metrics.heldTicks.set((held += 1));
      const waited = await hold(settings, turns, tick, message).finally(() =>
        metrics.heldTicks.set((held -= 1)),
      );
      message.started = true;
      metrics.inFlightRuns.set((inFlight += 1));
      const { signal } = cancelled;
      let { place } = waited;
      const control: RunControl = {
        cancel: signal,
        async beforeNext(delayMs, prepare) {
          place?.release();
          place = undefined;
          if (delayMs > 0) await clock.pause(delayMs, signal);
          await prepare();
          signal.throwIfAborted();
          place = await turns
            .start({ ...waited.start, latest: Infinity })
            .catch((cause: unknown) => {
              signal.throwIfAborted();
              throw cause;
            });
        },
        chore: () => turns.chore("ending"),
      };
      try {
        return await runInTime(settings, waited, control);
      } finally {
        metrics.inFlightRuns.set((inFlight -= 1));
        place?.release();
      }
    },
    /** Ends the wait of the message's held ticks. */
    giveBack(message: Message, reason: Error): void {
      message.givenBack = reason;
      turns.withdraw(message, reason);
    },
    cancel: () => cancelled.abort(new Error("the agent stopped before the run ended")),
    count: () => ({ in_flight: inFlight, held }),
  };
}

interface Held {
  readonly run: Run;
  readonly start: Start;
  /** Undefined if it is too late. */
  readonly place: Place | undefined;
}

/** Prepares the run; resolves when it may start or is too late. */
async function hold(
  settings: IntakeSettings,
  turns: Turns,
  tick: Tick,
  message: Message,
): Promise<Held> {
  await turns.chore("other");
  const run = prepareRun(settings, tick);
  if (message.givenBack) throw message.givenBack;
  const start = startOfRun(run, message);
  return { run, start, place: await turns.start(start) };
}

const startOfRun = ({ tick, steps }: Run, message: Message): Start => ({
  owner: tick.owner_hash ?? "",
  isManual: tick.trigger === "MANUAL",
  isLong: steps.some(({ behaviour }) => behaviour.timeoutMs > DEFAULT_BEHAVIOUR.timeoutMs),
  instant: startOf(tick),
  latest: tick.latest_start,
  group: message,
});

async function runInTime(
  settings: IntakeSettings,
  { run, place }: Held,
  control: RunControl,
): Promise<RunReport> {
  const { clock, metrics, runLog } = settings;
  const { tick } = run;
  const now = clock.now();
  const lateness = now - tick.due_time;
  const isTooLate = !place || now > tick.latest_start;
  if (!isTooLate) metrics.startLateness.observe(Math.max(0, lateness) / 1000);
  const report = isTooLate ? missedReport(settings, tick) : await makeRun(settings, run, control);
  runLog.ended(report, tick, now - startOf(tick));
  return report;
}
