// `sonde agents`: lists the agents of all locations, and takes one out of service for a while.
import { agentStateOf, describeAgent } from "../model/agent.ts";
import type { ListedAgent } from "../model/agent.ts";
import { invalid } from "../model/errors.ts";
import { HEARTBEAT_INTERVAL_MS } from "../model/location.ts";
import { show } from "../model/validate.ts";
import { audit, withStore } from "./command.ts";
import type { Command } from "./command.ts";

export const listAgents: Command = {
  options: ["json"],
  run: ({ config, values, print }) =>
    withStore(config, async (store) => {
      const now = await store.now();
      const agents = await store.agents.list();
      if (values.json) for (const agent of agents) print(`${JSON.stringify(lineOf(agent, now))}\n`);
      else print(agents.length === 0 ? "no agent has been seen yet\n" : tableOf(agents, now));
    }),
};

export const drainAgent: Command = {
  takesId: true,
  options: ["undo"],
  async run({ config, id, values, print }) {
    if (id === undefined)
      throw invalid("agents drain needs an agent id; `sonde agents list` shows them");
    const drain = !values.undo;
    await withStore(config, async (store) => {
      const locations = await store.transaction(async (within) => {
        const found = await within.agents.orderDrain(id, drain);
        if (found.length > 0)
          await audit(within, { action: "update", kind: "agent", object_id: id });
        return found;
      });
      if (locations.length === 0)
        throw invalid(`no agent ${show(id)}; \`sonde agents list\` shows them`);
      const order = drain
        ? "takes no more runs, ends those that have started and stays DRAINING"
        : "takes runs again";
      const within = `within ${HEARTBEAT_INTERVAL_MS / 1000} seconds`;
      print(`agent ${id} at ${locations.join(", ")} ${order}, ${within}\n`);
    });
  },
};

const lineOf = (agent: ListedAgent, now: number) => ({
  agent_id: agent.agent_id,
  location_id: agent.location_id,
  ...describeAgent(agent, now),
  remote_addr: agent.remote_addr,
});

const HEADINGS = [
  "LOCATION",
  "AGENT",
  "STATE",
  "VERSION",
  "RUNNING",
  "HELD",
  "SPOOLED",
  "CLOCK",
  "SEEN",
];

function tableOf(agents: readonly ListedAgent[], now: number): string {
  const rows = [HEADINGS, ...agents.map((agent) => cellsOf(agent, now))];
  const widths = HEADINGS.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "))
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}

function cellsOf(agent: ListedAgent, now: number): string[] {
  const { capacity, in_flight, clock_offset_ms: offset } = agent;
  const state = agentStateOf(agent, now);
  const isAwaited = agent.drain_ordered && state !== "DRAINING";
  return [
    agent.location_id,
    agent.agent_id,
    isAwaited ? `${state}, to drain` : state,
    agent.version,
    capacity === null ? String(in_flight) : `${in_flight}/${capacity}`,
    String(agent.held),
    String(agent.spool_reports),
    offset === null ? "?" : clockOf(offset),
    `${Math.max(0, Math.round((now - agent.last_seen) / 1000))} s ago`,
  ];
}

/** `offset`: by how much the hub's time is ahead, in milliseconds. */
function clockOf(offset: number): string {
  if (offset === 0) return "right";
  return `${Math.abs(offset / 1000).toFixed(3)} s ${offset > 0 ? "behind" : "ahead"}`;
}
