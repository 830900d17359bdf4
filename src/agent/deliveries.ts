// What becomes of the ticks that the bus hands over: each is held until due, run once, and its report published.
import type { RunReport } from "../model/result.ts";
import type { Tick } from "../model/tick.ts";
import type { Clock } from "../runtime/clock.ts";
import { createKeptReports } from "./kept-reports.ts";
import type { AgentMetrics } from "./metrics.ts";
import type { ReportPublisher } from "./report-publisher.ts";
import { createRunSlots } from "./run-slots.ts";
import type { TickRunner } from "./run-tick.ts";

export interface Deliveries {
  /**
   * Takes the ticks of one message. Resolves when all are reported and the reports stored; rejects, after all have
   * ended one way or the other, when the message is to be delivered again.
   */
  take(ticks: readonly Tick[]): Promise<void>;
  /**
   * Gives back the messages of which no tick has started, and those still to come. A message with a tick that has
   * started is finished: given back whole, it would have that tick run a second time.
   */
  giveBack(): void;
  /** Ends what runs; its messages are given back. */
  cancel(): void;
  inFlight(): number;
}

interface Message {
  started: boolean;
  /** Aborted to give the message back. */
  readonly hold: AbortController;
}

const STOPPING = "the agent is stopping";

export function createDeliveries({
  clock,
  runner,
  publisher,
  metrics,
  concurrency,
}: {
  readonly clock: Clock;
  readonly runner: TickRunner;
  readonly publisher: ReportPublisher;
  readonly metrics: AgentMetrics;
  readonly concurrency: number;
}): Deliveries {
  const slots = createRunSlots(concurrency);
  const kept = createKeptReports(clock);
  const messages = new Set<Message>();
  const underWay = new Map<string, Promise<void>>();
  const cancelled = new AbortController();
  let inFlight = 0;
  let giving = false;

  const hold = async (
    tick: Tick,
    { signal }: AbortController,
  ): Promise<void> => {
    metrics.heldTicks.inc();
    try {
      await clock.waitUntil(tick.due_time, signal);
      await slots.take(signal);
    } finally {
      metrics.heldTicks.dec();
    }
  };

  const start = async (tick: Tick): Promise<RunReport> => {
    const lateness = clock.now() - tick.due_time;
    if (clock.now() > tick.latest_start) return runner.miss(tick);
    metrics.startLateness.observe(Math.max(0, lateness) / 1000);
    metrics.inFlightRuns.set((inFlight += 1));
    try {
      return await runner.run(tick, cancelled.signal);
    } finally {
      metrics.inFlightRuns.set((inFlight -= 1));
    }
  };

  const run = async (tick: Tick, message: Message): Promise<RunReport> => {
    await hold(tick, message.hold);
    message.started = true;
    try {
      return await start(tick);
    } finally {
      slots.release();
    }
  };

  const deliver = async (tick: Tick, message: Message): Promise<void> => {
    const known = kept.find(tick.result_id);
    if (known) {
      metrics.repeatedTicks.inc();
      return publisher.publish(known);
    }
    const report = await run(tick, message);
    for (const { meta } of report.results)
      metrics.runs.inc({ result: meta.result });
    kept.keep(report);
    return publisher.publish(report);
  };

  const deliverOnce = (tick: Tick, message: Message): Promise<void> => {
    const running = underWay.get(tick.result_id);
    if (running) {
      metrics.repeatedTicks.inc();
      return running;
    }
    const delivery = deliver(tick, message).finally(() =>
      underWay.delete(tick.result_id),
    );
    underWay.set(tick.result_id, delivery);
    return delivery;
  };

  return {
    async take(ticks) {
      const message: Message = { started: false, hold: new AbortController() };
      if (giving) message.hold.abort(new Error(STOPPING));
      messages.add(message);
      const ends = await Promise.allSettled(
        ticks.map((tick) => deliverOnce(tick, message)),
      );
      messages.delete(message);
      for (const end of ends)
        if (end.status === "rejected") throw end.reason as Error;
    },
    giveBack() {
      giving = true;
      for (const { started, hold } of messages)
        if (!started) hold.abort(new Error(STOPPING));
    },
    cancel() {
      const reason = new Error("the agent stopped before the run ended");
      for (const { hold } of messages) hold.abort(reason);
      cancelled.abort(reason);
    },
    inFlight: () => inFlight,
  };
}
