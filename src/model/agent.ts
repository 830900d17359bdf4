// Agents as the hub sees them: which versions it works with, their states, and how many it lists.
import { HEARTBEAT_INTERVAL_MS, HEARTBEATS_OF_SILENCE } from "./heartbeat.ts";
import type { Heartbeat } from "./heartbeat.ts";
import { formatInstant } from "./instant.ts";
import { DAY_MS } from "./periods.ts";

/**
 * The version of the protocol between hub and agents. It increases when older agents could no
 * longer do what the hub requires, not when a field is added.
 */
export const PROTOCOL = 2;

/** The hub accepts no results from agents that speak an older protocol. */
export const OLDEST_PROTOCOL = 2;

/** Maximum agents that the hub lists per location; further ones work unlisted. */
export const MAX_AGENTS_PER_LOCATION = 1000;

/** An agent that has not been seen for this long is forgotten. */
export const AGENTS_KEPT_MS = 7 * DAY_MS;

/** An agent's condition at its latest heartbeat; `incompatible` is the hub's verdict. */
export type AgentCondition = "online" | "draining" | "stopped" | "incompatible";

export const AGENT_STATES = ["ONLINE", "STALE", "OFFLINE", "DRAINING", "INCOMPATIBLE"] as const;
export type AgentState = (typeof AGENT_STATES)[number];

export interface SeenAgent {
  readonly condition: AgentCondition;
  /** When it entered its condition; epoch milliseconds, like `last_seen`. */
  readonly condition_since: number;
  /** When its latest heartbeat was received. */
  readonly last_seen: number;
}

export interface ListedAgent extends SeenAgent {
  readonly location_id: string;
  readonly agent_id: string;
  readonly version: string;
  readonly protocol: number;
  /** Maximum calls at a time; null if unknown. */
  readonly capacity: number | null;
  readonly in_flight: number;
  readonly held: number;
  readonly spool_reports: number;
  readonly spool_bytes: number;
  readonly clock_offset_ms: number | null;
  /** When it sent its latest heartbeat, by its own clock, but no later than `last_seen`. */
  readonly sent: number;
  readonly remote_addr: string;
  /** When its first heartbeat was received. */
  readonly created: number;
  readonly drain_ordered: boolean;
}

/** The protocol of a heartbeat that names none. */
const FIRST_PROTOCOL = 1;

export const protocolOf = ({ protocol = FIRST_PROTOCOL }: Heartbeat): number => protocol;

/** Returns, for the agent's operator, why the hub refuses its results; undefined if it does not. */
export function refusalOf(
  heartbeat: Heartbeat,
  hub: { readonly version: string; readonly oldestProtocol: number },
): string | undefined {
  const protocol = protocolOf(heartbeat);
  if (protocol >= hub.oldestProtocol) return undefined;
  return (
    `the agent's version ${heartbeat.version} is too old for the hub's, ${hub.version}: ` +
    `update the agent to ${hub.version} ` +
    `(it speaks protocol ${protocol}, the hub accepts ${hub.oldestProtocol} and later)`
  );
}

export function conditionOf({ state }: Heartbeat): AgentCondition {
  return state === "draining" || state === "stopped" ? state : "online";
}

/** An agent that has not been seen for longer is offline. */
export const SILENT_MS = HEARTBEATS_OF_SILENCE * HEARTBEAT_INTERVAL_MS;

/** Whether the agent was seen in time, and has not said since that it stopped. */
export const isOnline = ({ condition, last_seen }: SeenAgent, at: number): boolean =>
  condition === "stopped" ? at < last_seen : at - last_seen <= SILENT_MS;

/** Whether the agent is online, and neither draining nor incompatible, at that time. */
export const takesTicks = (agent: SeenAgent, at: number): boolean =>
  isOnline(agent, at) && !(isIdle(agent) && agent.condition_since <= at);

const isIdle = ({ condition }: SeenAgent): boolean =>
  condition === "draining" || condition === "incompatible";

/** Half an interval of leeway, since a heartbeat may be in transit for a while. */
const MISSED_ONE_MS = 1.5 * HEARTBEAT_INTERVAL_MS;

export function agentStateOf(agent: SeenAgent, now: number): AgentState {
  if (!isOnline(agent, now)) return "OFFLINE";
  if (agent.condition === "incompatible") return "INCOMPATIBLE";
  if (agent.condition === "draining") return "DRAINING";
  return now - agent.last_seen > MISSED_ONE_MS ? "STALE" : "ONLINE";
}

/** Describes an agent at this time, as lists show it. */
export const describeAgent = (agent: ListedAgent, now: number) => ({
  state: agentStateOf(agent, now),
  version: agent.version,
  last_seen: formatInstant(agent.last_seen),
  in_flight: agent.in_flight,
  held: agent.held,
  capacity: agent.capacity,
  spool_reports: agent.spool_reports,
  spool_bytes: agent.spool_bytes,
  clock_offset_ms: agent.clock_offset_ms,
  drain_ordered: agent.drain_ordered,
});
