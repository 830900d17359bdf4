// Metrics of this process's use of the database.
import type { Pool } from "pg";
import { isUnavailable } from "../model/errors.ts";
import { systemClock } from "../runtime/clock.ts";
import { Counter, Histogram, registerReading, registerSampled } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";

export type DatabaseMetrics = ReturnType<typeof createDatabaseMetrics>;

/** Counts the connections to PostgreSQL by state. */
type CountConnections = () => Pick<Pool, "totalCount" | "idleCount" | "waitingCount">;

/** A database that refuses changes still answers reads, so a refusal counts for a while. */
const REFUSAL_MS = 30_000;

export function createDatabaseMetrics(registry: Registry) {
  const registers = [registry];
  const seconds = new Histogram({
    name: "sonde_database_query_duration_seconds",
    help: "Time from a statement to its answer; on SQLite, of one statement in sixteen.",
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2, 10],
    registers,
  });
  const errors = new Counter({
    name: "sonde_database_errors_total",
    help: "Statements and connections that failed because the database was unavailable.",
    registers,
  });
  let [isUsed, isUp, refusedAt] = [false, false, -Infinity];
  let connections: CountConnections | undefined;
  registerReading(
    {
      name: "sonde_database_up",
      help: "1 if the latest use of the database succeeded, 0 if it was unavailable, or if PostgreSQL refused a change in the last 30 s.",
      registers,
    },
    () => (isUsed ? Number(isUp && systemClock.monotonic() - refusedAt > REFUSAL_MS) : undefined),
  );
  registerSampled({
    name: "sonde_database_connections",
    help: "Connections to PostgreSQL that are idle or busy, and statements that wait for one.",
    registers,
    samples: () => (connections ? samplesOf(connections()) : []),
  });
  const note = (isUpNow: boolean): void => {
    [isUsed, isUp] = [true, isUpNow];
  };
  return {
    succeeded(durationMs?: number): void {
      note(true);
      if (durationMs !== undefined) seconds.observe(durationMs / 1000);
    },
    /** Errors other than `unavailable` are the statement's own: the database has answered. */
    failed(error: unknown, refusesChanges = false): void {
      note(!isUnavailable(error));
      if (refusesChanges) refusedAt = systemClock.monotonic();
      if (isUnavailable(error)) errors.inc();
    },
    watch(count: CountConnections): void {
      connections = count;
    },
  };
}

const samplesOf = ({ totalCount, idleCount, waitingCount }: ReturnType<CountConnections>) => [
  { labels: { state: "idle" }, value: idleCount },
  { labels: { state: "busy" }, value: totalCount - idleCount },
  { labels: { state: "waiting" }, value: waitingCount },
];
