// Agents as the hub sees them: which versions it works with, their states, and how many it lists.
import { formatInstant } from "./instant.ts";
import { HEARTBEAT_INTERVAL_MS } from "./location.ts";
import type { Heartbeat } from "./location.ts";

/**
 * What hub and agents say to each other. It grows when an older agent could no longer do what the
 * hub asks of it, not when a field is added.
 */
export const PROTOCOL = 2;

/** The hub takes no results of agents that speak an older one. */
export const OLDEST_PROTOCOL = 2;

/** Agents of a location that the hub lists: those beyond work, unlisted. */
export const MAX_AGENTS_PER_LOCATION = 1000;

/** An agent that was not seen for this long is forgotten. */
export const AGENTS_KEPT_MS = 7 * 86_400_000;

/** What an agent does, by its latest heartbeat; `incompatible` is the hub's verdict. */
export type AgentCondition = "online" | "draining" | "stopped" | "incompatible";

export const AGENT_STATES = ["ONLINE", "STALE", "OFFLINE", "DRAINING", "INCOMPATIBLE"] as const;
export type AgentState = (typeof AGENT_STATES)[number];

export interface SeenAgent {
  readonly condition: AgentCondition;
  /** Epoch milliseconds, as the next one: when it came into its condition. */
  readonly condition_since: number;
  /** When its latest heartbeat was received. */
  readonly last_seen: number;
}

export interface ListedAgent extends SeenAgent {
  readonly location_id: string;
  readonly agent_id: string;
  readonly version: string;
  readonly protocol: number;
  /** Maximum runs at a time; null: unknown. */
  readonly capacity: number | null;
  readonly in_flight: number;
  readonly held: number;
  readonly spool_reports: number;
  readonly spool_bytes: number;
  readonly clock_offset_ms: number | null;
  /** When it sent its latest heartbeat, by its own clock, unless that was ahead. */
  readonly sent: number;
  readonly remote_addr: string;
  /** When its first heartbeat was received. */
  readonly created: number;
  readonly drain_ordered: boolean;
}

/** `protocol` of a heartbeat without one. */
const FIRST_PROTOCOL = 1;

export const protocolOf = ({ protocol = FIRST_PROTOCOL }: Heartbeat): number => protocol;

/** For the agent's operator: why the hub takes no results of it; undefined if it does. */
export function refusalOf(
  heartbeat: Heartbeat,
  hub: { readonly version: string; readonly oldestProtocol: number },
): string | undefined {
  const protocol = protocolOf(heartbeat);
  if (protocol >= hub.oldestProtocol) return undefined;
  return (
    `the agent's version ${heartbeat.version} is too old for the hub's, ${hub.version}: ` +
    `update the agent to ${hub.version} ` +
    `(it speaks protocol ${protocol}, the hub takes ${hub.oldestProtocol} and later)`
  );
}

export function conditionOf({ state }: Heartbeat): AgentCondition {
  return state === "draining" || state === "stopped" ? state : "online";
}

/** An agent is offline after three missed heartbeats, or when it said that it stopped. */
export const isOnline = ({ condition, last_seen }: SeenAgent, at: number): boolean =>
  condition === "stopped" ? at < last_seen : at - last_seen <= 3 * HEARTBEAT_INTERVAL_MS;

/** Online, and neither draining nor incompatible by then. */
export const takesTicks = (agent: SeenAgent, at: number): boolean =>
  isOnline(agent, at) && !(isIdle(agent) && agent.condition_since <= at);

const isIdle = ({ condition }: SeenAgent): boolean =>
  condition === "draining" || condition === "incompatible";

/** Half an interval of leeway: a heartbeat may be under way for a while. */
const MISSED_ONE_MS = 1.5 * HEARTBEAT_INTERVAL_MS;

export function agentStateOf(agent: SeenAgent, now: number): AgentState {
  if (!isOnline(agent, now)) return "OFFLINE";
  if (agent.condition === "incompatible") return "INCOMPATIBLE";
  if (agent.condition === "draining") return "DRAINING";
  return now - agent.last_seen > MISSED_ONE_MS ? "STALE" : "ONLINE";
}

/** What lists say of an agent at this time. */
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
