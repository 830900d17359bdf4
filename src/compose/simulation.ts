// Records simulated results as the aggregator does, but not in its metrics, which count real ones.
import { createAggregatorMetrics } from "../aggregator/metrics.ts";
import { recordBatch } from "../aggregator/record-results.ts";
import { WEEK_MS } from "../model/periods.ts";
import { slotOf } from "../model/slots.ts";
import { systemClock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import { Registry } from "../runtime/metrics.ts";
import type { FillOptions } from "../simulation/fill-store.ts";

/** Returns the options shared by all simulations. */
export function simulationOn(log: Logger): Pick<FillOptions, "clock" | "record"> {
  const metrics = createAggregatorMetrics(new Registry());
  return {
    clock: systemClock,
    record: (store, reports) => recordBatch({ store, clock: systemClock, log, metrics }, reports),
  };
}

/** Returns a span of this many weeks, up to the end of the last full minute. */
export const weeksUpTo = (now: number, weeks: number): Pick<FillOptions, "from" | "until"> => {
  const until = slotOf(now);
  return { from: until - weeks * WEEK_MS, until };
};
