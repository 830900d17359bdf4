// Takes messages of ticks from the bus. Each tick is held until due, run once in this process, and
// reported; a message is done when all its ticks are. A redelivered tick joins its run, or gets the
// report that was kept.
import { isLong } from "../model/behaviour.ts";
import type { RunReport } from "../model/result.ts";
import { startOf } from "../model/tick.ts";
import type { Tick } from "../model/tick.ts";
import { createMessages } from "./messages.ts";
import type { Message } from "./messages.ts";
import type { AgentMetrics } from "./metrics.ts";
import type { Claim } from "./places.ts";
import type { KeptReports } from "./reporting/kept-reports.ts";
import type { ReportPublisher } from "./reporting/report-publisher.ts";
import type { RunLog } from "./run-log.ts";
import { makeRun, missedReport } from "./make-run.ts";
import type { RunControl, RunSettings } from "./make-run.ts";
import type { Place, Start } from "./starts.ts";
import { createTurns } from "./turns.ts";
import type { Turns } from "./turns.ts";

export interface IntakeSettings extends RunSettings {
  readonly metrics: AgentMetrics;
  readonly runLog: RunLog;
  readonly publisher: ReportPublisher;
  readonly kept: KeptReports;
  /** Maximum calls at a time. */
  readonly concurrency: number;
}

export type Intake = ReturnType<typeof createIntake>;

export function createIntake(settings: IntakeSettings) {
  const { clock, concurrency, kept, metrics } = settings;
  const turns = createTurns(clock, concurrency);
  const runs = createRuns(settings, turns);
  const messages = createMessages();
  const held = createHeldTicks(metrics, turns, {
    begin: (tick, start, place) => report(tick.result_id, runs.run(tick, start, place)),
    withdrawn: (id, reason) => messages.ended(id, reason),
  });
  let stopping = false;

  function handle(tick: Tick, message: Message): void {
    const { result_id: id } = tick;
    const known = messages.join(id, message) ? kept.find(id) : "under way";
    if (known) metrics.repeatedTicks.inc();
    if (known === "under way") return;
    if (known === "published") messages.ended(id);
    else if (known) report(id, Promise.resolve(known));
    else if (stopping) messages.ended(id, notTaken());
    else held.add(tick, message, clock.now());
  }

  /** The tick ends when its report is published. */
  function report(id: string, made: Promise<RunReport>): void {
    const published = made.then((content) => publish(settings, content));
    const failed = (cause: Error): void => messages.ended(id, cause);
    published.then(() => messages.ended(id), failed);
  }

  const giveBack = (message: Message): void => turns.withdraw(message, notTaken());
  return {
    /**
     * Resolves when the reports of all ticks are published (`ReportPublisher.publish`); rejects,
     * once every tick has ended, when their message must be redelivered.
     */
    take(ticks: readonly Tick[], onStarted: () => void): Promise<void> {
      const message = messages.open(ticks.length, onStarted);
      for (const tick of ticks) handle(tick, message);
      return message.done.promise;
    },
    /**
     * Gives back every message without a started run, including later arrivals. The others finish:
     * if redelivered, their started ticks would run twice.
     */
    stop(): void {
      stopping = true;
      for (const message of messages.all) if (!message.started) giveBack(message);
    },
    resume(): void {
      stopping = false;
    },
    /** Gives back the messages without a started run. The runs of the others end as AGENT_ERROR. */
    cancel(): void {
      runs.cancel();
      for (const message of messages.all) giveBack(message);
    },
    /** Runs in flight, and ticks that have not started. */
    count: () => ({ in_flight: runs.inFlight(), held: held.count() }),
  };
}

const notTaken = (): Error => new Error("the agent accepts no more ticks");

async function publish({ publisher, kept }: IntakeSettings, report: RunReport): Promise<void> {
  try {
    await publisher.publish(report);
    kept.published(report.run_id);
  } catch (cause) {
    kept.keep(report); // for the tick's redelivery
    throw cause;
  }
}

/** Exactly one of the two is called for each held tick. */
interface Fates {
  /** `place` is undefined if the tick got none in time, or before its agent stopped. */
  readonly begin: (tick: Tick, start: Start, place?: Place) => void;
  readonly withdrawn: (resultId: string, reason: Error) => void;
}

/** Holds ticks until they are due, a place is free and the thread is on time. */
function createHeldTicks({ heldTicks }: AgentMetrics, turns: Turns, fates: Fates) {
  let count = 0;
  return {
    count: () => count,
    /**
     * Keeps only the tick's text: thousands of parsed ticks would take several times the memory
     * and the garbage collector's time.
     */
    add(tick: Tick, message: Message, received: number): void {
      const { result_id } = tick;
      const text = JSON.stringify(tick);
      const leave = (): void => {
        message.held -= 1;
        heldTicks.set((count -= 1));
      };
      const start: Start = {
        ...claimOf(tick),
        group: message,
        received,
        ready: startOf(tick),
        begin(place) {
          leave();
          message.started = true;
          if (message.held === 0) message.onStarted();
          fates.begin(JSON.parse(text) as Tick, start, place);
        },
        withdrawn(reason) {
          // A message that has started must not come back: its calls would be made again.
          if (message.started) return start.begin();
          leave();
          fates.withdrawn(result_id, reason);
        },
      };
      message.held += 1;
      heldTicks.set((count += 1));
      turns.add(start);
    },
  };
}

const claimOf = (tick: Tick): Claim => ({
  owner: tick.owner_hash ?? "",
  isManual: tick.trigger === "MANUAL",
  isLong: tick.calls.some(({ tags }) => isLong(tags)),
  instant: startOf(tick),
  latest: tick.latest_start,
});

/** Makes runs that may start. */
function createRuns(settings: IntakeSettings, turns: Turns) {
  const { clock, metrics } = settings;
  const cancelled = new AbortController();
  const { signal } = cancelled;
  let inFlight = 0;

  /** Waits for a place for a run's next call. Rejects with the reason of `cancel`. */
  const placeAgain = (start: Start): Promise<Place | undefined> =>
    new Promise((begin, reject) => {
      const withdrawn = (reason: Error): void => reject(signal.aborted ? signal.reason : reason);
      turns.add({ ...start, ready: clock.now(), latest: Infinity, begin, withdrawn });
    });

  return {
    /** Without `firstPlace`, makes no call: the run is too late, or cancelled. */
    async run(tick: Tick, start: Start, firstPlace: Place | undefined): Promise<RunReport> {
      metrics.inFlightRuns.set((inFlight += 1));
      let place = firstPlace;
      const control: RunControl = {
        cancel: signal,
        async pause(ms) {
          place?.release();
          place = undefined;
          if (ms > 0) await clock.pause(ms, signal);
        },
        async resume() {
          signal.throwIfAborted();
          place = await placeAgain(start);
        },
        chore: () => turns.chore(),
      };
      try {
        return await runInTime(settings, tick, { ...start, place }, control);
      } finally {
        metrics.inFlightRuns.set((inFlight -= 1));
        place?.release();
      }
    },
    cancel: () => cancelled.abort(new Error("the agent stopped before the run ended")),
    inFlight: () => inFlight,
  };
}

async function runInTime(
  settings: IntakeSettings,
  tick: Tick,
  { received, place }: Pick<Start, "received"> & { readonly place: Place | undefined },
  control: RunControl,
): Promise<RunReport> {
  const { clock, metrics, runLog } = settings;
  const now = clock.now();
  const lateness = now - startOf(tick);
  const isCancelled = control.cancel?.aborted ?? false;
  const isTooLate = !isCancelled && (!place || now > tick.latest_start);
  if (!isTooLate && !isCancelled) metrics.startLateness.observe(Math.max(0, lateness) / 1000);
  const report = isTooLate
    ? missedReport(settings, tick, received)
    : await makeRun(settings, tick, control);
  runLog.ended(report, tick, lateness);
  return report;
}
