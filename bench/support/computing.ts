// Computes insights in a store, in its own process on the measured core. Its argument is the
// store's location as JSON. It answers with the cost.
import { once } from "node:events";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createInsights } from "../../src/aggregator/insights.ts";
import { createInsightMetrics } from "../../src/aggregator/metrics.ts";
import { INSIGHT_DELAY_MS } from "../../src/model/insight.ts";
import { periodEnd } from "../../src/model/periods.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { Registry } from "../../src/runtime/metrics.ts";
import { startAnswering } from "./children.ts";
import type { Location } from "./database.ts";
import { openBenchStore } from "./database.ts";
import { WEEK_START } from "./insights-load.ts";
import { memoryMb, peakMemoryMb } from "./usage.ts";

export interface ComputedReports {
  readonly reports: number;
  readonly ms: number;
  /** CPU milliseconds of this process in that time. */
  readonly cpu: number;
  /** The longest time in which the event loop did not turn, in milliseconds. */
  readonly blockMs: number;
  /** Peak memory of the process minus its memory before, in megabytes. */
  readonly growthMb: number;
}

/** Each order computes what is due. */
export const startComputer = (location: Location) =>
  startAnswering<ComputedReports>(import.meta.filename, JSON.stringify(location));

if (import.meta.main) {
  const opened = await openBenchStore(JSON.parse(process.argv[2] ?? "") as Location);
  // The instant at which the week's reports are due, and nothing else is.
  const now = periodEnd("WEEK", WEEK_START) + INSIGHT_DELAY_MS;
  const metrics = createInsightMetrics(new Registry());
  const insights = createInsights({
    store: { ...opened, now: async () => now },
    holder: "bench",
    clock: systemClock,
    log: createLogger("error"),
    metrics,
  });
  const stored = async (): Promise<number> =>
    (await metrics.reports.get()).values.find(({ labels }) => labels["outcome"] === "stored")
      ?.value ?? 0;
  for (;;) {
    await once(process, "message");
    const [before, memory] = [await stored(), memoryMb(process.pid)];
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const [started, cpu] = [performance.now(), process.cpuUsage()];
    await insights.run();
    const ms = performance.now() - started;
    const { user, system } = process.cpuUsage(cpu);
    delay.disable();
    const computed: ComputedReports = {
      reports: (await stored()) - before,
      ms,
      cpu: (user + system) / 1000,
      blockMs: delay.max / 1e6,
      growthMb: peakMemoryMb(process.pid) - memory,
    };
    process.send?.(computed);
  }
}
