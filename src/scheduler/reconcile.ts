// Closes the ledger: a run whose outcome did not come in time is MISSED, with the reason that the
// facts allow.
import { isOnline } from "../model/location.ts";
import type { Logger } from "../runtime/logger.ts";
import type { ExpiredRun, MissedRun, PendingRun, StoredAgent } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { SchedulerMetrics } from "./metrics.ts";

const BATCH = 500;

export interface ReconcileOptions {
  readonly store: Store;
  readonly log: Logger;
  readonly metrics: SchedulerMetrics;
}

export async function reconcile(
  { store, log, metrics }: ReconcileOptions,
  signal?: AbortSignal,
): Promise<void> {
  const at = await store.now();
  const agents = await store.locations.listAgents();
  for (let more = true; more && !signal?.aborted;) {
    const expired = await store.pendingRuns.listExpired(at, BATCH);
    more = expired.length === BATCH;
    if (expired.length === 0) break;
    const missed = expired.map((run) => missedFor(reasonOf(run, agents), run));
    await store.results.recordMissed(missed);
    for (const [reason, runs] of Map.groupBy(missed, (each) => each.reason)) {
      metrics.missed.inc({ reason }, runs.length);
      log.warn({ reason, missed: runs.length }, "runs missed");
    }
  }
}

export interface MissedWithReason extends MissedRun {
  readonly reason: Reason;
}

export const missedFor = (reason: Reason, run: PendingRun): MissedWithReason => ({
  run,
  reason,
  result: "MISSED",
  message: `${reason}: ${EXPLANATIONS[reason](`location '${run.location_id}'`)}`,
});

type Reason = "still_running" | "hub_unreachable" | "no_agent" | "agent_offline" | "agent_lost";

/** What is known of the location's agents is judged at the time that the run had to start. */
export function reasonOf(run: ExpiredRun, agents: readonly StoredAgent[]): Reason {
  if (!run.published) return "hub_unreachable";
  const there = agents.filter(({ location_id }) => location_id === run.location_id);
  if (there.length === 0) return "no_agent";
  return there.some(({ last_seen }) => isOnline(last_seen, run.latest_start))
    ? "agent_lost"
    : "agent_offline";
}

const EXPLANATIONS: Readonly<Record<Reason, (location: string) => string>> = {
  still_running: () => "the deployment's run before this one was under way when this one was due",
  hub_unreachable: () => "the bus could not be reached to publish the run",
  no_agent: (location) => `no agent has ever been seen at ${location}`,
  agent_offline: (location) => `no agent was online at ${location} when the run was due`,
  agent_lost: (location) =>
    `an agent at ${location} was given the run and never reported its outcome`,
};
