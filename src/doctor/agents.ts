// Agents: each location with deployments has a working one, of this version, with an empty spool.
import { agentStateOf, SILENT_MS } from "../model/agent.ts";
import type { ListedAgent } from "../model/agent.ts";
import { count } from "../model/count.ts";
import type { Check } from "./check.ts";
import { lengthOf, sizeOf } from "./amounts.ts";
import type { Finding } from "./finding.ts";
import { failure, ok, warning } from "./finding.ts";
import type { Sources } from "./sources.ts";
import { DATABASE, readableDatabase } from "./sources.ts";

export interface AgentFacts {
  readonly now: number;
  /** The hub's version. */
  readonly version: string;
  readonly agents: readonly ListedAgent[];
  /** The ids of all locations. */
  readonly locations: readonly string[];
  /** Number of deployments, by location. */
  readonly deployments: ReadonlyMap<string, number>;
  /** The only location that can have an agent: that of this process, without NATS. */
  readonly only: string | undefined;
}

export const agentsCheck = (sources: Sources): Check => ({
  name: "agents",
  needs: [...DATABASE, "natsUrls", "location"],
  async run() {
    const database = await readableDatabase(sources);
    const { natsUrls, location } = sources.config;
    return agentFindings({
      now: await database.now(),
      version: sources.version,
      agents: await database.agents.list(),
      locations: (await database.locations.list()).map(({ id }) => id),
      deployments: await database.deployments(),
      only: natsUrls ? undefined : location,
    });
  },
});

export function agentFindings(facts: AgentFacts): Finding[] {
  const together = silentTogether(facts);
  const found = together ? [together] : faultsOfAll(facts);
  const byAdvice = Map.groupBy(found, ({ advice }) => advice?.replaceAll(/`[^`]*`/g, ""));
  const shown = [...byAdvice.values()].flatMap(firstOf);
  return shown.length > 0 ? shown : [ok(soundAgents(facts))];
}

/** Maximum findings shown per kind: an offline fleet has one cause. */
const SHOWN = 5;

function firstOf(alike: readonly Finding[]): readonly Finding[] {
  const next = alike[SHOWN];
  if (!next) return alike;
  const others = { ...next, finding: `and ${alike.length - SHOWN} more like these` };
  return [...alike.slice(0, SHOWN), others];
}

function soundAgents({ agents, deployments }: AgentFacts): string {
  if (agents.length === 0 && deployments.size === 0)
    return "nothing is deployed, and no agent has been seen";
  const draining = agents.filter(({ condition }) => condition === "draining").length;
  const online = count(agents.length - draining, "agent is", "agents are");
  return `${online} online${draining > 0 ? ` and ${draining} draining` : ""}, and each location with deployments has one`;
}

/** Agents that fell silent at once may well be working: nobody records their heartbeats. */
function silentTogether({ now, agents }: AgentFacts): Finding | undefined {
  const silent = agents.filter((agent) => agent.condition !== "stopped");
  const latest = Math.max(...silent.map(({ last_seen }) => last_seen));
  const together = silent.filter(({ last_seen }) => latest - last_seen <= SILENT_MS);
  if (now - latest <= SILENT_MS || together.length < 2) return undefined;
  return failure(
    `no heartbeat was recorded for ${lengthOf(now - latest)}: ${together.length} agents fell silent together`,
    "start an aggregator, which records heartbeats; if one is running, check the agents and their network",
  );
}

const faultsOfAll = (facts: AgentFacts): Finding[] => [
  ...lonelyLocations(facts),
  ...facts.agents.flatMap((agent) => faultsOf(agent, facts)),
];

function lonelyLocations({ now, agents, deployments, only }: AgentFacts): Finding[] {
  return [...deployments].flatMap(([location, number]) => {
    const there = agents.filter(({ location_id }) => location_id === location);
    const states = there.map((agent) => agentStateOf(agent, now));
    if (states.some((state) => state === "ONLINE" || state === "STALE")) return [];
    const whose = there.length === 0 ? "no agent" : `no agent that accepts runs`;
    const draining = there[states.indexOf("DRAINING")];
    const undo = draining ? `\`sonde agents drain ${draining.agent_id} --undo\`, or ` : "";
    return [
      failure(
        `location ${location} has ${count(number, "deployment")} and ${whose}: its runs are MISSED`,
        `${undo}${adviceFor(location, only)}`,
      ),
    ];
  });
}

function adviceFor(location: string, only: string | undefined): string {
  if (only === undefined)
    return `start an agent there: \`sonde locations env ${location}\` prints its settings (docs/regions.md)`;
  if (only === location) return "start `sonde serve`: without NATS, its process has the agent";
  return `set SONDE_LOCATION=${location}, or move its deployments to ${only}: without NATS, only the location of the process has an agent`;
}

function faultsOf(agent: ListedAgent, { now, version, locations }: AgentFacts): Finding[] {
  const name = `agent ${agent.agent_id} at ${agent.location_id}`;
  const state = agentStateOf(agent, now);
  const found: Finding[] = [];
  if (state === "OFFLINE")
    return [
      warning(
        agent.condition === "stopped"
          ? `${name} was stopped ${lengthOf(now - agent.last_seen)} ago`
          : `${name} is offline: its last heartbeat came ${lengthOf(now - agent.last_seen)} ago (allowed: 30 s)`,
        "start it, or ignore this if you no longer need it: the hub forgets an agent after seven days",
      ),
    ];
  if (!locations.includes(agent.location_id))
    found.push(
      warning(
        `${name} gets no runs: there is no location ${agent.location_id}`,
        `correct its SONDE_LOCATION, or create the location: \`sonde locations add ${agent.location_id}\``,
      ),
    );
  if (state === "STALE")
    found.push(
      warning(
        `${name} is stale: its last heartbeat came ${lengthOf(now - agent.last_seen)} ago (allowed: 15 s)`,
        "check its log and its network: after 30 s, it counts as offline",
      ),
    );
  if (state === "INCOMPATIBLE")
    found.push(
      failure(
        `${name} has version ${agent.version}, which the hub (${version}) rejects`,
        `update it to ${version}`,
      ),
    );
  else if (agent.version !== version)
    found.push(
      warning(
        `${name} has version ${agent.version} (the hub's: ${version})`,
        `update it to ${version} when the hub is`,
      ),
    );
  if (agent.spool_reports > 0)
    found.push(
      warning(
        `${name} holds ${count(agent.spool_reports, "report")} (${sizeOf(agent.spool_bytes)}) in its spool (allowed: 0)`,
        "if NATS or the hub was down, wait; otherwise look for `bus did not accept` in its log",
      ),
    );
  return found;
}
