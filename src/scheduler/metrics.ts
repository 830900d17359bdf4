// The scheduler's metrics.
import { Counter, Gauge } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";

export type SchedulerMetrics = ReturnType<typeof createSchedulerMetrics>;

export function createSchedulerMetrics(registry: Registry) {
  const registers = [registry];
  return {
    leader: new Gauge({
      name: "sonde_scheduler_leader",
      help: "1 while this process holds the scheduler's lease.",
      registers,
    }),
    cursor: new Gauge({
      name: "sonde_scheduler_cursor_timestamp_seconds",
      help: "The newest slot that is open or being opened.",
      registers,
    }),
    slots: new Counter({
      name: "sonde_scheduler_slots_total",
      help: "Slots opened.",
      registers,
    }),
    lateSlots: new Gauge({
      name: "sonde_scheduler_late_slots",
      help: "Past slots whose runs are still to be recorded as MISSED.",
      registers,
    }),
    runs: new Counter({
      name: "sonde_scheduler_runs_total",
      help: "Runs ordered by schedule.",
      registers,
    }),
    missed: new Counter({
      name: "sonde_scheduler_missed_runs_total",
      help: "Runs recorded as MISSED by the scheduler, by reason.",
      labelNames: ["reason"],
      registers,
    }),
  };
}
