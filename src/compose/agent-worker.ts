// An agent in its own thread, seen from that thread. The main thread starts and stops it, and tells
// it the process's own ports and servers.
import type { MessagePort } from "node:worker_threads";
import type { AgentBus } from "../bus/bus.ts";
import type { Agent } from "../agent/agent.ts";
import { createThreadBus } from "../bus/thread-bus.ts";
import type { OwnNetwork } from "../net/egress.ts";
import { saveCompiledCode } from "../runtime/compiled-code.ts";
import type { Logger, LogSettings } from "../runtime/logger.ts";
import { releaseMemory } from "../runtime/memory.ts";
import { Registry, snapshotOf } from "../runtime/metrics.ts";
import { SealError } from "../runtime/sealer.ts";
import { connectThreads } from "../runtime/thread-calls.ts";
import { composeAgent } from "./agent.ts";
import type { AgentOrder } from "./agent.ts";
import { openConfiguredBus } from "./bus.ts";
import type { BusConfig } from "./bus.ts";
import { createKeyRing } from "./location-keys.ts";
import type { LocationKeys } from "./location-keys.ts";

/** The worker's `workerData`. */
export interface AgentThreadData {
  readonly config: BusConfig;
  readonly log: LogSettings;
  /** Connects to the bus of this process; undefined if the agent connects to NATS itself. */
  readonly port: MessagePort | undefined;
}

export interface AgentThreadOrder extends AgentOrder {
  /** For its connection to NATS. */
  readonly locationKeys: LocationKeys;
}

/** Lets the main thread call the agent. */
export function serveAgent(main: MessagePort, data: AgentThreadData, log: Logger): void {
  connectThreads(main, createCalls(data, log));
}

export type AgentThreadCalls = ReturnType<typeof createCalls>;

function createCalls({ config, port }: AgentThreadData, log: Logger) {
  const registry = new Registry();
  const own = { ports: new Set<number>(), servers: new Set<string>() };
  let bus: AgentBus | undefined;
  let agent: Agent | undefined;

  let keys: LocationKeys | undefined;
  const ring = createKeyRing((locationId) => {
    if (keys) return keys;
    throw new SealError(`this agent has no key of location ${locationId} yet`);
  });
  const { sealerOf } = ring;

  return {
    async start({ locationKeys, ...order }: AgentThreadOrder): Promise<void> {
      const { agentId: name } = order;
      keys ??= locationKeys;
      bus = port
        ? createThreadBus(port)
        : await openConfiguredBus(config, log, registry, { name, sealerOf });
      agent = composeAgent(order, { bus, log, registry, own });
      // Now: no call should wait for it.
      saveCompiledCode();
      releaseMemory();
      await agent.start();
    },
    async stop(): Promise<void> {
      await agent?.stop();
      await bus?.close();
    },
    useKeys(locationKeys: LocationKeys): void {
      keys = locationKeys;
      ring.changed(config.location);
    },
    /** Passes on the process's own ports and servers known so far. */
    learn({ ports, servers }: OwnNetwork): void {
      for (const each of ports) own.ports.add(each);
      for (const each of servers) own.servers.add(each);
    },
    status: () => ({
      ...(bus?.status() ?? { connected: false, detail: "not started" }),
      refusal: agent?.refusal(),
    }),
    metrics: () => snapshotOf(registry),
  };
}
