// The aggregator's metrics.
import { Counter, Gauge, Histogram } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";

export type AggregatorMetrics = ReturnType<typeof createAggregatorMetrics>;

export function createAggregatorMetrics(registry: Registry) {
  const registers = [registry];
  const lastRecorded = new Gauge({
    name: "sonde_aggregator_last_recorded_timestamp_seconds",
    help: "When this process last recorded a result; absent before.",
    registers,
  });
  lastRecorded.remove();
  const results = new Counter({
    name: "sonde_aggregator_results_total",
    help: "Reports received, by outcome: recorded, late, duplicate, unknown or unusable.",
    labelNames: ["outcome"],
    registers,
  });
  results.inc({ outcome: "recorded" }, 0); // an alert counts what was recorded since the start
  return {
    lastRecorded,
    batchResults: new Histogram({
      name: "sonde_aggregator_batch_results",
      help: "Reports in a batch that was stored.",
      buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000],
      registers,
    }),
    results,
    batchSeconds: new Histogram({
      name: "sonde_aggregator_batch_duration_seconds",
      help: "Time to store a batch of results and fold its statistics.",
      buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
      registers,
    }),
    removed: new Counter({
      name: "sonde_aggregator_removed_rows_total",
      help: "Expired rows removed, by kind.",
      labelNames: ["kind"],
      registers,
    }),
  };
}

export type InsightMetrics = ReturnType<typeof createInsightMetrics>;

export function createInsightMetrics(registry: Registry) {
  const registers = [registry];
  return {
    reports: new Counter({
      name: "sonde_aggregator_insights_total",
      help: "Insights reports that were due, by outcome: stored, call deleted, results removed, nothing ran, superseded or failed.",
      labelNames: ["outcome"],
      registers,
    }),
    seconds: new Histogram({
      name: "sonde_aggregator_insight_duration_seconds",
      help: "Time to compute an insights report and store it.",
      buckets: [0.005, 0.02, 0.05, 0.1, 0.5, 2, 10],
      registers,
    }),
    failing: new Gauge({
      name: "sonde_aggregator_insights_failing",
      help: "Insights reports that could not be computed and wait for a retry.",
      registers,
    }),
  };
}
