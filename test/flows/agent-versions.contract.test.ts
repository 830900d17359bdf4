// Hubs and agents of different versions: today's agent, and heartbeats as other versions send them.
import { describe, expect, it } from "vitest";
import { createAgent } from "../../src/agent/agent.ts";
import { createAgentMetrics } from "../../src/agent/metrics.ts";
import { createAggregator } from "../../src/aggregator/aggregator.ts";
import { createAggregatorMetrics } from "../../src/aggregator/metrics.ts";
import { PROTOCOL, agentStateOf } from "../../src/model/agent.ts";
import type { Heartbeat } from "../../src/model/heartbeat.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import type { Service } from "../../src/runtime/lifecycle.ts";
import { createRegistry } from "../../src/runtime/metrics.ts";
import { parseEgressAllow } from "../../src/net/egress.ts";
import { ADAPTERS, aHeartbeat, quiet } from "../bus/buses.ts";
import { track } from "../support/no-leftovers.ts";
import { createTestDatabase, storeKinds } from "../support/stores.ts";

const [kind = "sqlite"] = storeKinds;
const [adapter] = ADAPTERS;

async function startSystem() {
  await using stack = new AsyncDisposableStack();
  const store = await stack.use(await createTestDatabase(kind)).open(systemClock);
  const buses = stack.use(await adapter!.start());
  const bus = await buses.join();
  const registry = () => createRegistry({ version: "test" });
  const running = stack.move();
  return {
    bus,
    /** Runs until the returned function is called. */
    async startHub(oldestProtocol: number): Promise<() => Promise<void>> {
      const hub = createAggregator({
        bus: await buses.join(),
        store,
        clock: systemClock,
        log: quiet,
        metrics: createAggregatorMetrics(registry()),
        version: "9.0.0",
        oldestProtocol,
      });
      await hub.start();
      return () => hub.stop();
    },
    async startAgent() {
      const agent = createAgent({
        bus: await buses.join(),
        clock: systemClock,
        log: quiet,
        metrics: createAgentMetrics(registry()),
        locationId: "here",
        agentId: "agent-1",
        version: "1.2.3",
        egress: parseEgressAllow([]),
        concurrency: 1,
      });
      running.defer(track("agent-1"));
      running.use(disposable(agent));
      await agent.start();
      return agent;
    },
    states: async () => {
      const now = await store.now();
      const agents = await store.agents.list();
      return agents.map((agent) => [agent.agent_id, agent.version, agentStateOf(agent, now)]);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const disposable = (service: Service): AsyncDisposable => ({
  [Symbol.asyncDispose]: () => service.stop(),
});

describe("versions", () => {
  it("an agent too old for its hub is refused with a sentence, and listed as INCOMPATIBLE", async () => {
    await using system = await startSystem();
    const stopHub = await system.startHub(PROTOCOL + 1);
    const agent = await system.startAgent();
    expect(agent.refusal()).toBe(
      "the agent's version 1.2.3 is too old for the hub's, 9.0.0: update the agent to 9.0.0 " +
        `(it speaks protocol ${PROTOCOL}, the hub accepts ${PROTOCOL + 1} and later)`,
    );
    await expect.poll(system.states).toEqual([["agent-1", "1.2.3", "INCOMPATIBLE"]]);
    await agent.stop();
    await expect.poll(system.states).toEqual([["agent-1", "1.2.3", "OFFLINE"]]);
    await stopHub();
  });

  it.each<[string, Partial<Heartbeat> & Record<string, unknown>, refused: boolean]>([
    ["of the first version", {}, true],
    ["of the oldest that the hub takes, with nothing optional", { protocol: 2 }, false],
    [
      "of a newer version, with fields and a state that the hub does not know",
      { protocol: 7, state: "on_holiday", mood: { happy: true } },
      false,
    ],
  ])("a heartbeat %s: refused is %j", async (_, fields, refused) => {
    await using system = await startSystem();
    const stopHub = await system.startHub(2);
    await expect
      .poll(() => system.bus.sendHeartbeat({ ...aHeartbeat("here"), ...fields }))
      .toEqual({
        now: expect.any(Number) as number,
        ...(refused && { refused: expect.stringContaining("too old") as string }),
      });
    await expect
      .poll(system.states)
      .toEqual([["agent", "1.0.0", refused ? "INCOMPATIBLE" : "ONLINE"]]);
    await stopHub();
  });
});
