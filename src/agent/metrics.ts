// The agent's metrics.
import { Counter, Gauge, Histogram } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";

export type AgentMetrics = ReturnType<typeof createAgentMetrics>;

export function createAgentMetrics(registry: Registry) {
  const registers = [registry];
  return {
    runs: new Counter({
      name: "sonde_agent_runs_total",
      help: "Calls that ended, by result; MISSED among them.",
      labelNames: ["result"],
      registers,
    }),
    inFlightRuns: new Gauge({
      name: "sonde_agent_in_flight_runs",
      help: "Runs being made just now.",
      registers,
    }),
    heldTicks: new Gauge({
      name: "sonde_agent_held_ticks",
      help: "Ticks taken that have not started: not due yet, or waiting for a place.",
      registers,
    }),
    startLateness: new Histogram({
      name: "sonde_agent_start_lateness_seconds",
      help: "How long after their due time runs started.",
      buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60],
      registers,
    }),
    clockOffset: new Gauge({
      name: "sonde_agent_clock_offset_seconds",
      help: "How far the hub's time is ahead of this machine's clock; 0 while they agree as far as can be measured.",
      registers,
    }),
    unpublishedReports: new Gauge({
      name: "sonde_agent_reports_unpublished",
      help: "Reports of finished runs that the bus has not taken yet.",
      registers,
    }),
    publishRetries: new Counter({
      name: "sonde_agent_report_publish_retries_total",
      help: "Attempts to publish reports that failed because the bus was unreachable.",
      registers,
    }),
    spooledReports: new Gauge({
      name: "sonde_agent_spooled_reports",
      help: "Reports in the spool on disk, to be delivered when the bus takes them.",
      registers,
    }),
    spoolDropped: new Counter({
      name: "sonde_agent_spool_dropped_total",
      help: "Reports that were dropped and not delivered, by reason: full, corrupt, too_large, refused.",
      labelNames: ["reason"],
      registers,
    }),
    spoolFailures: new Counter({
      name: "sonde_agent_spool_failures_total",
      help: "Times that the file of the spool could not be used, or was corrupt.",
      registers,
    }),
    repeatedTicks: new Counter({
      name: "sonde_agent_repeated_ticks_total",
      help: "Ticks delivered again while they ran or after they had run; not run a second time.",
      registers,
    }),
  };
}
