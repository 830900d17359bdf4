// Records runs as MISSED, each with the reason that fits the facts.
import { isOnline, takesTicks } from "../model/agent.ts";
import type { ListedAgent } from "../model/agent.ts";
import type { MissedRun, PendingRun } from "../store/records.ts";
import type { SchedulerParts } from "./parts.ts";

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
  { store, log, metrics }: SchedulerParts,
  missed: readonly MissedWithReason[],
): Promise<void> {
  for (const [reason, runs] of Map.groupBy(missed, (each) => each.reason)) {
    const recorded = await store.results.recordMissed(runs);
    if (recorded === 0) continue;
    metrics.missed.inc({ reason }, recorded);
    log.warn({ reason, missed: recorded }, "runs missed");
  }
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
