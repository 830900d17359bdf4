// A workflow that is still running at its deployment's next slot: that slot is not run.
import { isOnline } from "../model/location.ts";
import type { PendingRun, StoredAgent } from "../store/records.ts";
import { missedFor } from "./reconcile.ts";
import type { MissedWithReason, ReconcileOptions } from "./reconcile.ts";

/**
 * How long after its due time a run waits for the outcome of the one before it, whose report may be
 * on its way:
 *
 *     slot before          due     due + 5 s
 *     |-- its run ... ended |.report.|          the run starts when the report is there
 *     |-- its run ..........|........|          MISSED: still_running
 */
const REPORT_ON_ITS_WAY_MS = 5000;
const BATCH = 500;

export async function missOverlapped(
  { store, log, metrics }: ReconcileOptions,
  now: number,
): Promise<void> {
  const before = now - REPORT_ON_ITS_WAY_MS;
  const overlapped = await store.pendingRuns.listOverlapped(before, BATCH);
  if (overlapped.length === 0) return;
  const agents = await store.locations.listAgents();
  const missed = overlapped.map((run) => missedFor(reasonOf(run, agents), run));
  await store.results.recordMissed(missed);
  for (const [reason, runs] of Map.groupBy(missed, (each) => each.reason))
    metrics.missed.inc({ reason }, runs.length);
  log.warn({ missed: missed.length }, "slots of workflows under way missed");
}

/** Where nobody is at work, the run before this one is not under way, but lost. */
function reasonOf(
  { location_id, due_time }: PendingRun,
  agents: readonly StoredAgent[],
): MissedWithReason["reason"] {
  const there = agents.filter((agent) => agent.location_id === location_id);
  if (there.length === 0) return "no_agent";
  return there.some(({ last_seen }) => isOnline(last_seen, due_time))
    ? "still_running"
    : "agent_offline";
}
