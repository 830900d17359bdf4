// The agent's metrics.
import { Counter, Gauge, Histogram } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";

export type AgentMetrics = ReturnType<typeof createAgentMetrics>;

/** Functions that create metrics in the registry. */
function makersOf(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Counter({ name, help, labelNames, registers });
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name, help, buckets, registers });
  return { counter, gauge, histogram };
}

export function createAgentMetrics(registry: Registry) {
  const { counter, gauge, histogram } = makersOf(registry);
  const runs = counter("sonde_agent_runs_total", "Finished calls by result, MISSED included.", [
    "result",
  ]);
  runs.inc({ result: "MISSED" }, 0);
  const clockOffset = new Gauge({
    name: "sonde_agent_clock_offset_seconds",
    help: "Offset of the hub's time from this machine's clock; 0 while they agree within the measurement error; absent until the hub has answered.",
    aggregator: "average", // the agents of a process share the machine's clock
    registers: [registry],
  });
  clockOffset.remove();
  return {
    ...createSpoolMetrics(registry),
    runs,
    inFlightRuns: gauge("sonde_agent_in_flight_runs", "Runs in flight."),
    capacity: gauge(
      "sonde_agent_capacity_runs",
      "Maximum calls at a time. A workflow in flight makes none during its delays.",
    ),
    heldTicks: gauge(
      "sonde_agent_held_ticks",
      "Ticks that have not started: not due yet, or waiting for a place.",
    ),
    startLateness: histogram(
      "sonde_agent_start_lateness_seconds",
      "Time from a run's place in its second to its start.",
      [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60],
    ),
    timingUncertainty: histogram(
      "sonde_agent_timing_uncertainty_seconds",
      "How much the agent's own work may have lengthened the times of calls.",
      [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    ),
    uncertainResults: counter(
      "sonde_agent_uncertain_results_total",
      "Results whose uncertainty exceeds 10 ms and 10 % of their total.",
    ),
    clockOffset,
    unansweredHeartbeats: new Gauge({
      name: "sonde_agent_unanswered_heartbeats",
      help: "Consecutive heartbeats that reached NATS but that the hub did not answer.",
      aggregator: "max",
      registers: [registry],
    }),
    unpublishedReports: gauge(
      "sonde_agent_reports_unpublished",
      "Reports of finished runs that the bus has not accepted yet.",
    ),
    publishRetries: counter(
      "sonde_agent_report_publish_retries_total",
      "Failed attempts to publish reports while the bus was unreachable.",
    ),
    repeatedTicks: counter(
      "sonde_agent_repeated_ticks_total",
      "Redelivered ticks whose run was in flight or finished; they do not run again.",
    ),
  };
}

function createSpoolMetrics(registry: Registry) {
  const { counter, gauge } = makersOf(registry);
  const spoolDropped = counter(
    "sonde_agent_spool_dropped_total",
    "Reports dropped before delivery, by reason: full, corrupt, too_large, refused.",
    ["reason"],
  );
  for (const reason of ["full", "corrupt", "too_large", "refused"]) spoolDropped.inc({ reason }, 0);
  return {
    spoolDropped,
    spooledReports: gauge("sonde_agent_spooled_reports", "Reports in the spool on disk."),
    spoolBytes: gauge(
      "sonde_agent_spool_bytes",
      "Size of the reports in the spool, including those of other locations.",
    ),
    spoolFailures: counter(
      "sonde_agent_spool_failures_total",
      "Failed operations on the spool's file, including corruption.",
    ),
  };
}
