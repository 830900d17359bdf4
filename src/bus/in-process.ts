// The bus within one process: queues in memory that keep the promises of the port.
import { unavailable } from "../model/errors.ts";
import { checkLocationId } from "../model/location.ts";
import type { RunReport } from "../model/result.ts";
import type { Tick } from "../model/tick.ts";
import type { Clock } from "../runtime/clock.ts";
import type { BacklogAt, Bus } from "./bus.ts";
import { locationOf, REPORT_MAX_AGE_MS, reportKey, TICK_MAX_AGE_MS, tickKey } from "./bus.ts";
import type { Observer } from "./delivery.ts";
import { createReportReceiver, createTickReceiver } from "./delivery.ts";
import { createQuestionLines } from "./questions.ts";
import { createQueue } from "./queue.ts";
import type { Queue } from "./queue.ts";

export interface InProcessBusOptions extends Observer {
  readonly clock: Clock;
}

/** Passes ticks and reports by reference, frozen: neither side can change the other's. */
export function createInProcessBus(options: InProcessBusOptions): Bus {
  const ticks = new Map<string, Queue<Tick>>();
  const reports = createQueue({ ...options, ...REPORTS });
  const questions = createQuestionLines(options);
  let closing: Promise<void> | undefined;

  function ticksOf(locationId: string): Queue<Tick> {
    const known = ticks.get(locationId);
    if (known) return known;
    const queue = createQueue({ ...options, ...TICKS });
    ticks.set(checkLocationId(locationId), queue);
    return queue;
  }
  function refuseIfClosed(): void {
    if (closing) throw unavailable("the bus is closed", { part: "the bus" });
  }
  async function close(): Promise<void> {
    const parts = [questions, reports, ...ticks.values()];
    await Promise.all(parts.map((part) => part.close()));
  }

  return {
    durable: false,
    async publishTicks(batch) {
      refuseIfClosed();
      if (batch.length > 0) ticksOf(locationOf(batch)).publish(batch);
    },
    consumeTicks: async (locationId, handler) =>
      ticksOf(locationId).attach(createTickReceiver(handler, options)),
    async publishReports(batch) {
      refuseIfClosed();
      if (batch.length > 0) reports.publish(batch);
    },
    consumeReports: async (handler) => reports.attach(createReportReceiver(handler, options)),
    reportsSafe: () => reports.emptied(),
    ...questions,
    async backlog() {
      const now = options.clock.monotonic();
      const at = [...ticks].map(([location, queue]) => ticksLeft(queue, location, now));
      return [
        { stream: "ticks", at },
        { stream: "results", at: reportsLeft(reports, now) },
      ];
    },
    connection: () => undefined,
    status: () => ({ connected: !closing, detail: `in this process${closing ? ", closed" : ""}` }),
    seenAt: () => "",
    announcedServers: () => [],
    close: () => (closing ??= close()),
  };
}

const TICKS = {
  kind: "ticks",
  maxAgeMs: TICK_MAX_AGE_MS,
  keyOf: tickKey,
} as const;
const REPORTS = {
  kind: "reports",
  maxAgeMs: REPORT_MAX_AGE_MS,
  keyOf: reportKey,
} as const;

function ticksLeft(queue: Queue<Tick>, location_id: string, now: number): BacklogAt {
  const oldestAgeMs = now - (queue.oldestWaiting() ?? now);
  return { location_id, messages: queue.open.size, oldestAgeMs };
}

function reportsLeft({ open }: Queue<RunReport>, now: number): BacklogAt[] {
  const byLocation = Map.groupBy(open, ([[first]]) => first?.location_id ?? "");
  return [...byLocation].map(([location_id, messages]) => ({
    location_id,
    messages: messages.length,
    oldestAgeMs: now - (messages[0]?.[1] ?? now),
  }));
}
