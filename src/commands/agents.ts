// `sonde agents`: lists the agents of all locations, and takes one out of service for a while.
import type { Command } from "commander";
import { agentStateOf, describeAgent } from "../model/agent.ts";
import type { ListedAgent } from "../model/agent.ts";
import { invalid } from "../model/errors.ts";
import { HEARTBEAT_INTERVAL_MS } from "../model/location.ts";
import { show } from "../model/validate.ts";
import { audit, examples, withStore } from "./command.ts";
import type { Context } from "./command.ts";

export function addAgentCommands(program: Command, context: Context): void {
  const agents = program.command("agents").description("List the agents, and drain one.");
  agents
    .command("list")
    .description("Show each agent: its state, version, load, spool and clock.")
    .option("--json", "print one JSON object for each agent")
    .addHelpText("after", examples("sonde agents list", "sonde agents list --json"))
    .action((options: { readonly json?: true }) => listAgents(context, options));
  agents
    .command("drain")
    .description("Have an agent take no more runs; it ends those that have started, and stays.")
    .argument("<id>", "an agent's id, as `sonde agents list` shows it")
    .option("--undo", "have it take runs again")
    .addHelpText(
      "after",
      examples("sonde agents drain paris-1", "sonde agents drain paris-1 --undo"),
    )
    .action((id: string, options: { readonly undo?: true }) => drainAgent(context, id, options));
}

const listAgents = ({ config, print }: Context, { json }: { readonly json?: true }) =>
  withStore(config(), async (store) => {
    const now = await store.now();
    const agents = await store.agents.list();
    if (json) for (const agent of agents) print(`${JSON.stringify(lineOf(agent, now))}\n`);
    else print(agents.length === 0 ? "no agent has been seen yet\n" : tableOf(agents, now));
  });

const drainAgent = (
  { config, print }: Context,
  id: string,
  { undo = false }: { readonly undo?: boolean },
) =>
  withStore(config(), async (store) => {
    const locations = await store.transaction(async (within) => {
      const found = await within.agents.orderDrain(id, !undo);
      if (found.length > 0) await audit(within, { action: "update", kind: "agent", object_id: id });
      return found;
    });
    if (locations.length === 0)
      throw invalid(`no agent ${show(id)}; \`sonde agents list\` shows them`);
    const order = undo
      ? "takes runs again"
      : "takes no more runs, ends those that have started and stays DRAINING";
    const within = `within ${HEARTBEAT_INTERVAL_MS / 1000} seconds`;
    print(`agent ${id} at ${locations.join(", ")} ${order}, ${within}\n`);
  });

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
