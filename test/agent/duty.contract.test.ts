// An agent that the hub refuses or tells to take no ticks, and one that stops.
// @module-tag slow
import { describe, expect, it } from "vitest";
import { createAgent } from "../../src/agent/agent.ts";
import { createAgentMetrics } from "../../src/agent/metrics.ts";
import type { Heartbeat, HeartbeatAnswer } from "../../src/model/heartbeat.ts";
import type { RunReport } from "../../src/model/result.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { createRegistry } from "../../src/runtime/metrics.ts";
import { parseEgressAllow } from "../../src/net/egress.ts";
import { ADAPTERS } from "../bus/buses.ts";
import type { Adapter } from "../bus/buses.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { track } from "../support/no-leftovers.ts";
import { startTarget } from "../support/target-server.ts";
import { newCall, newTick } from "./calling.ts";

const NOW = Date.UTC(2026, 9, 1, 12, 0, 0);

/** A hub that answers as the test says, and agents of one location. */
async function startSystem({ start }: Adapter) {
  await using stack = new AsyncDisposableStack();
  const buses = stack.use(await start());
  const hub = await buses.join();
  const heartbeats: Heartbeat[] = [];
  const reports: RunReport[] = [];
  const machine = createManualClock(NOW);
  let orders: Partial<HeartbeatAnswer> = {};
  await hub.consumeHeartbeats(async (heartbeat, answer) => {
    heartbeats.push(heartbeat);
    answer({ now: NOW + machine.monotonic(), ...(heartbeat.agent_id === "agent-1" && orders) });
  });
  await hub.consumeReports(async (batch) => void reports.push(...batch));
  const running = stack.move();
  return {
    hub,
    said: () =>
      heartbeats.filter(({ agent_id }) => agent_id === "agent-1").map(({ state }) => state),
    last: () => heartbeats.findLast(({ agent_id }) => agent_id === "agent-1"),
    ranBy: () => Object.fromEntries(reports.map(({ run_id, agent_id }) => [run_id, agent_id])),
    /** Sets the hub's next answer to agent-1, and makes the agent ask at once. */
    async order(next: Partial<HeartbeatAnswer>) {
      orders = next;
      await machine.setNow(machine.now() + 1000); // an agent asks again when its clock was set
    },
    async startAgent(agentId = "agent-1") {
      const lines: string[] = [];
      const agent = createAgent({
        bus: await buses.join(),
        clock: machine,
        log: createLogger("info", { write: (line) => void lines.push(line) }),
        metrics: createAgentMetrics(createRegistry({ version: "test" })),
        locationId: "here",
        agentId,
        version: "1.2.3",
        egress: parseEgressAllow(["127.0.0.1"]),
        concurrency: 500,
      });
      const untrack = track(agentId);
      await agent.start();
      let stopping: Promise<void> | undefined;
      const stop = (): Promise<void> => (stopping ??= agent.stop().finally(untrack));
      running.defer(stop);
      return {
        ...agent,
        stop,
        logged: (text: string) => lines.filter((line) => line.includes(text)),
      };
    },
    publish: (url: string, id: string, due = NOW) =>
      hub.publishTicks([
        newTick(newCall({ url }, { result_id: id }), {
          trigger_time: due,
          due_time: due,
          latest_start: due + 600_000,
        }),
      ]),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

describe.each(ADAPTERS)("an agent on the $name bus", (adapter) => {
  it("drains on the hub's order: gives back unstarted ticks, and finishes the rest", async () => {
    const held: (() => void)[] = [];
    await using target = await startTarget(({ url }, response) => {
      if (url === "/held") held.push(() => response.end("ok"));
      else response.end("ok");
    });
    await using system = await startSystem(adapter);
    const { ranBy, last, publish } = system;
    const agent = await system.startAgent();
    await publish(`${target.url}/held`, "started");
    await expect.poll(() => held).toHaveLength(1);
    await publish(target.url, "later", NOW + 300_000);
    await system.order({});
    await expect
      .poll(last)
      .toMatchObject({ state: "online", in_flight: 1, held: 1, capacity: 500 });

    await system.order({ drain: true });
    await expect.poll(last).toMatchObject({ state: "draining", in_flight: 1, held: 0 });
    await system.startAgent("agent-2");
    await publish(target.url, "while it drains");
    await expect.poll(ranBy).toEqual({ "while it drains": "agent-2" });
    held[0]?.();
    await expect.poll(ranBy).toEqual({ "while it drains": "agent-2", started: "agent-1" });
    expect(agent.refusal()).toBeUndefined();

    await system.order({});
    await expect.poll(last).toMatchObject({ state: "online", in_flight: 0 });
    expect(agent.logged("ordered by an operator")).toHaveLength(1);
    expect(agent.logged("agent resumed")).toHaveLength(1);
    await expect
      .poll(async () => {
        await publish(target.url, `again ${Object.keys(ranBy()).length}`);
        return Object.values(ranBy()).filter((agentId) => agentId === "agent-1");
      })
      .toHaveLength(2);
  });

  it("takes no ticks while the hub refuses it, and says why once", async () => {
    await using target = await startTarget();
    await using system = await startSystem(adapter);
    await system.order({ refused: "too old: update it" });
    const agent = await system.startAgent();
    expect(agent.refusal()).toBe("too old: update it");
    await system.publish(target.url, "run");
    const heard = system.said().length;
    await system.order({ refused: "too old: update it" });
    await expect.poll(() => system.said().length).toBeGreaterThan(heard);
    expect(agent.logged("too old: update it")).toHaveLength(1);
    expect(target.requests).toEqual([]);

    await system.order({});
    await expect.poll(system.ranBy).toEqual({ run: "agent-1" });
    expect(agent.refusal()).toBeUndefined();
    expect(agent.logged("agent accepted by the hub")).toHaveLength(1);
  });

  it("reports draining while it stops, then stopped", async () => {
    const held: (() => void)[] = [];
    await using target = await startTarget((_, response) => {
      held.push(() => response.end("ok"));
    });
    await using system = await startSystem(adapter);
    const agent = await system.startAgent();
    await system.publish(target.url, "run");
    await expect.poll(() => held).toHaveLength(1);
    const stopped = agent.stop();
    await expect.poll(system.said).toEqual(["online", "draining"]);
    held[0]?.();
    await stopped;
    expect(system.said()).toEqual(["online", "draining", "stopped"]);
    expect(system.last()).toMatchObject({ in_flight: 0, held: 0 });
    await expect.poll(system.ranBy).toEqual({ run: "agent-1" });
  });
});
