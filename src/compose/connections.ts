// What the roles of a process share, opened in order: the data folder, the agents' threads, the
// store, the keys of locations, and the bus.
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Bus } from "../bus/bus.ts";
import { createCallMetrics } from "../call-metrics/call-metrics.ts";
import { isAgent, isHub } from "../config/config.ts";
import type { Config } from "../config/config.ts";
import type { DataDir } from "../runtime/data-dir.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import { createRegistry } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";
import { createDatabaseMetrics } from "../store/metrics.ts";
import { lockForProcess } from "../store/sqlite/process-lock.ts";
import type { Store } from "../store/store.ts";
import { VERSION } from "../version.ts";
import { claimAgentIds } from "./agent-id.ts";
import { agentThreadsOf, startAgentThread } from "./agent-thread.ts";
import type { AgentThread } from "./agent-thread.ts";
import { openConfiguredBus, streamsOf } from "./bus.ts";
import type { Demo } from "./demo.ts";
import { ensureLocation } from "./first-start.ts";
import { openHubKeys } from "./hub-keys.ts";
import { agentKeysOf, createKeyRing } from "./location-keys.ts";
import type { KeysOf } from "./location-keys.ts";
import { openConfiguredStore } from "./store.ts";
import { traceConfiguredBus } from "./tracing.ts";

export interface ComposeOptions {
  readonly config: Config;
  readonly dataDir: DataDir;
  readonly log: Logger;
  /**
   * Its target starts once this process holds the data folder and stops just before the folder is
   * released, even after a failed start. The agent may always call it.
   */
  readonly demo?: Demo | undefined;
}

/** What the roles of a process share. */
export interface Connections {
  readonly registry: Registry;
  /** The name under which this process holds leases. */
  readonly holder: string;
  /** Undefined when no role needs it. */
  readonly store: Store | undefined;
  /** Services that observe the store, alongside the roles. */
  readonly watches: readonly Service[];
  readonly bus: Bus;
  /** One per agent; empty: the agent, if any, runs on the main thread. */
  readonly agentThreads: readonly AgentThread[];
  /** The ids of its agents, in order. */
  readonly agentIds: readonly string[];
  readonly keysOf: KeysOf;
}

/** Adds each part to `opened` once it is open, as a service that closes it. */
export async function openConnections(
  { config, dataDir, log, demo }: ComposeOptions,
  opened: Service[],
): Promise<Connections> {
  const closeLater = (name: string, stop: Service["stop"]): void =>
    void opened.push({ name, start: async () => undefined, stop });
  if (isHub(config) && !config.databaseUrl) {
    const unlock = lockForProcess(dataDir.path("serve.lock"));
    closeLater("data folder", async () => unlock());
  }
  if (demo) {
    closeLater(demo.name, () => demo.stop());
    await demo.start();
  }
  // The agents' modules load while the store opens.
  const agentThreads = Array.from({ length: agentThreadsOf(config) }, () =>
    startAgentThread(config, log),
  );
  closeLater("agents' threads", async () => {
    await Promise.all(agentThreads.map((thread) => thread.end()));
  });
  const agents = isAgent(config) ? config.agentThreads : 0;
  const { ids: agentIds, release } = claimAgentIds(dataDir, agents, log);
  closeLater("agents' ids", async () => release());
  const registry = createRegistry({ version: VERSION });
  const calls = callMetricsOf(config, registry);
  const store = isHub(config)
    ? await openConfiguredStore(config, dataDir, log, {
        metrics: createDatabaseMetrics(registry),
        ...(calls && { onStored: (results) => calls.record(results) }),
      })
    : undefined;
  if (store) closeLater("store", () => store.close());
  const watches = store && calls ? [calls.naming(store, log)] : [];
  const name = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const hubKeys = store && (await openHubKeys({ config, dataDir, store, log }));
  const keysOf = hubKeys?.keysOf ?? agentKeysOf(config);
  const { sealerOf, changed } = createKeyRing(keysOf);
  const unfollow = hubKeys?.follow((id, locationKeys) => {
    changed(id);
    if (id === config.location && locationKeys)
      for (const thread of agentThreads) thread.useKeys(locationKeys);
  });
  closeLater("location keys", async () => unfollow?.());
  const busConfig = store ? { ...config, streams: streamsOf(config) } : config;
  const plainBus = await openConfiguredBus(busConfig, log, registry, { name, sealerOf });
  closeLater("bus", () => plainBus.close());
  const traced = await traceConfiguredBus(config, plainBus, { log, registry, name });
  closeLater("tracing", () => traced.close());
  const { bus } = traced;
  if (store) await prepareStore(store, bus, config);
  // With the data folder locked, any previous holder of the lease has ended: no need to wait.
  const holder = config.databaseUrl ? name : "data folder";
  return { registry, holder, store, watches, bus, agentThreads, agentIds, keysOf };
}

/** The roles that store results: the aggregator those of agents, the scheduler the MISSED ones. */
const STORING = ["aggregator", "scheduler"] as const;

const callMetricsOf = ({ roles, callMetrics, callMetricsMax }: Config, registry: Registry) =>
  STORING.some((role) => roles.includes(role)) && callMetrics === "on"
    ? createCallMetrics(registry, callMetricsMax)
    : undefined;

async function prepareStore(store: Store, bus: Bus, config: Config): Promise<void> {
  await ensureLocation(store, config.location, { served: isAgent(config) });
  // Messages of an in-memory bus are lost with the process.
  if (!bus.durable) await store.pendingRuns.markAllUnpublished();
}
