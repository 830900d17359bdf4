// The scheduler's metrics.
import { Counter, Gauge, Histogram } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";

export type SchedulerMetrics = ReturnType<typeof createSchedulerMetrics>;

export function createSchedulerMetrics(registry: Registry) {
  const registers = [registry];
  const cursor = new Gauge({
    name: "sonde_scheduler_cursor_timestamp_seconds",
    help: "The newest slot that is open or being opened; absent where another process leads.",
    registers,
  });
  const lateSlots = new Gauge({
    name: "sonde_scheduler_late_slots",
    help: "Past slots whose runs are still to be recorded as MISSED; absent where another process leads.",
    registers,
  });
  cursor.remove();
  lateSlots.remove();
  return {
    leader: new Gauge({
      name: "sonde_scheduler_leader",
      help: "1 while this process holds the scheduler's lease.",
      registers,
    }),
    cursor,
    beatLead: new Histogram({
      name: "sonde_scheduler_beat_lead_seconds",
      help: "Time left before a slot when its last tick was published; 0 if none was left.",
      buckets: [0, 1, 2, 4, 6, 8, 10, 12],
      registers,
    }),
    beatDuration: new Histogram({
      name: "sonde_scheduler_beat_duration_seconds",
      help: "Time from the start of the beat that opened a slot until its last tick was published.",
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers,
    }),
    clockOffset: new Gauge({
      name: "sonde_scheduler_clock_offset_seconds",
      help: "Offset of the database's time from this machine's clock; 0 while they agree within the measurement error.",
      registers,
    }),
    slots: new Counter({
      name: "sonde_scheduler_slots_total",
      help: "Slots opened.",
      registers,
    }),
    lateSlots,
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
