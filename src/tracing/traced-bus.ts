// The bus of a hub's process, which traces the runs that it orders and records.
import type { Bus } from "../bus/bus.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Tracing } from "../runtime/tracing.ts";
import { dispatchSpan, reportSpans } from "./run-spans.ts";
import { isSampled, traceIdOf } from "../runtime/span-ids.ts";

export interface TracedBusOptions {
  readonly tracing: Pick<Tracing, "add">;
  readonly clock: Clock;
  /** The share of runs that are traced, from 0 to 1. */
  readonly share: number;
}

/** Adds no spans for rejected messages: they are redelivered. */
export function traceBus(bus: Bus, { tracing, clock, share }: TracedBusOptions): Bus {
  const isTraced = (runId: string): boolean => isSampled(traceIdOf(runId), share);
  return {
    ...bus,
    async publishTicks(ticks) {
      const start = clock.now();
      await bus.publishTicks(ticks);
      const span = { start, end: clock.now() };
      for (const tick of ticks)
        if (isTraced(tick.result_id)) tracing.add([dispatchSpan(tick, span)]);
    },
    consumeReports: (handler) =>
      bus.consumeReports(async (reports) => {
        const start = clock.now();
        await handler(reports);
        const span = { start, end: clock.now() };
        for (const report of reports)
          if (isTraced(report.run_id)) tracing.add(reportSpans(report, span));
      }),
  };
}
