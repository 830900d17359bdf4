// Why runs are MISSED: the reasons, and their messages.
import { isOnline, takesTicks } from "./agent.ts";
import type { ListedAgent } from "./agent.ts";

const EXPLANATIONS = {
  scheduler_down: () => "no scheduler was running when the run was due",
  deployed_late: () => "the deployment was stored after its run was due",
  still_running: () =>
    "the deployment's previous run had not ended, or was lost, when this one was due",
  hub_unreachable: () => "the bus could not be reached to publish the run",
  bus_full: () => "the bus had no room for the run",
  // Agents are forgotten with their location, and after `AGENTS_KEPT_MS`.
  no_agent: (location: string) =>
    `no agent had been seen at ${location} for seven days, or the location was removed`,
  agent_offline: (location: string) => `no agent was online at ${location} when the run was due`,
  agents_draining: (location: string) =>
    `an agent at ${location} was draining, and no other could take the run`,
  agents_incompatible: (location: string) =>
    `the version of every agent online at ${location} was too old for the hub`,
  agent_lost: (location: string) =>
    `an agent at ${location} took the run but never reported its outcome`,
} as const;

/** The reasons that the hub determines. */
export type MissedReason = keyof typeof EXPLANATIONS;
export const MISSED_REASONS = Object.keys(EXPLANATIONS) as readonly MissedReason[];

/** What the message of a MISSED result begins with. `started_late` is an agent's. */
export type MissedCode = MissedReason | "started_late";

/** The pages give advice, and `sonde doctor` counts, by the code at the start. */
export const missedMessage = (code: MissedCode, text: string): string => `${code}: ${text}`;

export const explainMissed = (reason: MissedReason, locationId: string): string =>
  missedMessage(reason, EXPLANATIONS[reason](`location '${locationId}'`));

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
