// `sonde agents`: lists the agents of all locations, and takes one out of service for a while.
import type { Command } from "commander";
import { tableOf } from "../client/table.ts";
import type { Column } from "../client/table.ts";
import { agentStateOf, describeAgent } from "../model/agent.ts";
import type { ListedAgent } from "../model/agent.ts";
import { invalid } from "../model/errors.ts";
import { HEARTBEAT_INTERVAL_MS } from "../model/heartbeat.ts";
import { show } from "../model/validate.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";
import { screenOf } from "./output.ts";
import { audit, withStore } from "./with-store.ts";

export function addAgentCommands(program: Command, context: Context): void {
  const agents = program.command("agents").description("List agents, and drain one.");
  agents
    .command("list")
    .description("Show each agent's state, version, load, spool and clock.")
    .option("--json", "print one JSON object for each agent")
    .addHelpText("after", examples("sonde agents list", "sonde agents list --json"))
    .action((options: { readonly json?: true }) => listAgents(context, options));
  agents
    .command("drain")
    .description("Drain an agent: it finishes its current runs, accepts no new ones, and stays up.")
    .argument("<id>", "an agent's id, from `sonde agents list`")
    .option("--undo", "let it accept runs again")
    .addHelpText(
      "after",
      examples(
        "sonde agents drain agent-967ddb62cd977430",
        "sonde agents drain agent-967ddb62cd977430 --undo",
      ),
    )
    .action((id: string, options: { readonly undo?: true }) => drainAgent(context, id, options));
}

const listAgents = ({ config, print }: Context, { json }: { readonly json?: true }) =>
  withStore(config(), async (store) => {
    const now = await store.now();
    const agents = await store.agents.list();
    if (json) for (const agent of agents) print(`${JSON.stringify(lineOf(agent, now))}\n`);
    else
      print(
        agents.length === 0
          ? "no agent has been seen yet\n"
          : tableOf(columnsAt(now), agents, screenOf()),
      );
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
      ? "accepts runs again"
      : "accepts no new runs, finishes its current ones and stays DRAINING";
    const within = `within ${HEARTBEAT_INTERVAL_MS / 1000} seconds`;
    print(`agent ${id} at ${locations.join(", ")} ${order}, ${within}\n`);
  });

const lineOf = (agent: ListedAgent, now: number) => ({
  agent_id: agent.agent_id,
  location_id: agent.location_id,
  ...describeAgent(agent, now),
  remote_addr: agent.remote_addr,
});

const columnsAt = (now: number): readonly Column<ListedAgent>[] => [
  { heading: "LOCATION", cell: ({ location_id }) => location_id },
  { heading: "AGENT", cell: ({ agent_id }) => agent_id },
  { heading: "STATE", cell: (agent) => stateOf(agent, now) },
  { heading: "VERSION", cell: ({ version }) => version },
  {
    heading: "RUNNING",
    cell: ({ capacity, in_flight }) => (capacity === null ? in_flight : `${in_flight}/${capacity}`),
  },
  { heading: "HELD", cell: ({ held }) => held },
  { heading: "SPOOLED", cell: ({ spool_reports }) => spool_reports },
  {
    heading: "CLOCK",
    cell: ({ clock_offset_ms: offset }) => (offset === null ? "?" : clockOf(offset)),
  },
  {
    heading: "SEEN",
    cell: ({ last_seen }) => `${Math.max(0, Math.round((now - last_seen) / 1000))} s ago`,
  },
];

function stateOf(agent: ListedAgent, now: number): string {
  const state = agentStateOf(agent, now);
  return agent.drain_ordered && state !== "DRAINING" ? `${state}, drain ordered` : state;
}

/** `offset`: by how much the hub's time is ahead, in milliseconds. */
function clockOf(offset: number): string {
  if (offset === 0) return "right";
  return `${Math.abs(offset / 1000).toFixed(3)} s ${offset > 0 ? "behind" : "ahead"}`;
}
