// Closes the ledger: a run without an outcome in time is MISSED, with the reason that fits the
// facts.
import { setImmediate as nextTurn } from "node:timers/promises";
import { isOnline, takesTicks } from "../model/agent.ts";
import type { ListedAgent } from "../model/agent.ts";
import type { Logger } from "../runtime/logger.ts";
import type { ExpiredRun, MissedRun, PendingRun } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { SchedulerMetrics } from "./metrics.ts";

const PAGE = 1000;

export interface ReconcileOptions {
  readonly store: Store;
  readonly log: Logger;
  readonly metrics: SchedulerMetrics;
}

/**
 * Called between two pages of a beat: lets the process do other work, and renews the lease. Returns
 * the time afterwards; undefined if the beat must end.
 */
export type Renew = () => Promise<number | undefined>;

/** Records as MISSED the runs that expired before the instant. */
export async function reconcile(
  options: ReconcileOptions,
  before: number,
  signal?: AbortSignal,
): Promise<void> {
  const { store } = options;
  const agents = await store.agents.list();
  for (let more = true; more && !signal?.aborted;) {
    const expired = await store.pendingRuns.listExpired(before, PAGE);
    more = expired.length === PAGE;
    await recordMissed(
      options,
      expired.map((run) => missedFor(reasonOf(run, agents), run)),
    );
    await nextTurn();
  }
}

const EXPLANATIONS = {
  scheduler_down: () => "no scheduler was running when the run was due",
  deployed_late: () => "the deployment was stored after its run was due",
  still_running: () =>
    "the deployment's previous run had not ended, or was lost, when this one was due",
  hub_unreachable: () => "the bus could not be reached to publish the run",
  bus_full: () => "the bus had no room for the run",
  // Agents that were not seen for longer are forgotten: `AGENTS_KEPT_MS`.
  no_agent: (location: string) => `no agent was seen at ${location} in the last seven days`,
  agent_offline: (location: string) => `no agent was online at ${location} when the run was due`,
  agents_draining: (location: string) =>
    `an agent at ${location} was draining, and no other could take the run`,
  agents_incompatible: (location: string) =>
    `the version of every agent online at ${location} was too old for the hub`,
  agent_lost: (location: string) =>
    `an agent at ${location} took the run but never reported its outcome`,
} as const;

export type Reason = keyof typeof EXPLANATIONS;
export const REASONS = Object.keys(EXPLANATIONS) as readonly Reason[];

export interface MissedWithReason extends MissedRun {
  readonly reason: Reason;
}

export const missedFor = (reason: Reason, run: PendingRun): MissedWithReason => ({
  run,
  reason,
  result: "MISSED",
  message: `${reason}: ${EXPLANATIONS[reason](`location '${run.location_id}'`)}`,
});

/** Runs that have an outcome by now are neither recorded nor counted. */
export async function recordMissed(
  { store, log, metrics }: ReconcileOptions,
  missed: readonly MissedWithReason[],
): Promise<void> {
  for (const [reason, runs] of Map.groupBy(missed, (each) => each.reason)) {
    const recorded = await store.results.recordMissed(runs);
    if (recorded === 0) continue;
    metrics.missed.inc({ reason }, recorded);
    log.warn({ reason, missed: recorded }, "runs missed");
  }
}

function reasonOf(
  { published, location_id, latest_start }: ExpiredRun,
  agents: readonly ListedAgent[],
): Reason {
  if (!published) return "hub_unreachable";
  return absenceOf(agents, location_id, latest_start) ?? "agent_lost";
}

type Absence = "no_agent" | "agent_offline" | "agents_draining" | "agents_incompatible";

/** Undefined if an agent at the location could take ticks at that time. */
export function absenceOf(
  agents: readonly ListedAgent[],
  locationId: string,
  at: number,
): Absence | undefined {
  const there = agents.filter(({ location_id }) => location_id === locationId);
  if (there.length === 0) return "no_agent";
  const online = there.filter((agent) => isOnline(agent, at));
  if (online.length === 0) return "agent_offline";
  if (online.some((agent) => takesTicks(agent, at))) return undefined;
  const isDraining = online.some(({ condition }) => condition === "draining");
  return isDraining ? "agents_draining" : "agents_incompatible";
}
