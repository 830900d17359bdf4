// The composition root: opens, wires and starts the parts of a process, in order.
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Agent } from "../agent/agent.ts";
import type { Api } from "../api/server.ts";
import type { Bus } from "../bus/bus.ts";
import type { Config } from "../config/config.ts";
import type { DataDir } from "../runtime/data-dir.ts";
import { createLifecycle } from "../runtime/lifecycle.ts";
import type { Lifecycle, Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import { createRegistry } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";
import { createOpsServer } from "../runtime/ops-server.ts";
import type { OpsServer, ReadinessCheck } from "../runtime/ops-server.ts";
import { lockForProcess } from "../store/process-lock.ts";
import type { Store } from "../store/store.ts";
import { VERSION } from "../version.ts";
import { claimAgentIds } from "./agent-id.ts";
import { agentThreadsOf, startAgentThread } from "./agent-thread.ts";
import type { AgentThread } from "./agent-thread.ts";
import { openConfiguredBus, streamsOf } from "./bus.ts";
import { ensureFirstKey, ensureLocation } from "./first-start.ts";
import { openHubKeys } from "./hub-keys.ts";
import { agentKeysOf, createKeyRing } from "./location-keys.ts";
import type { KeysOf } from "./location-keys.ts";
import { announcingPort, openOwnNetwork } from "./network.ts";
import { openObservedStore } from "./observed-store.ts";
import { composeRoles } from "./roles.ts";
import { traceConfiguredBus } from "./tracing.ts";

/** Requests to token endpoints may take 10 s, then runs in flight 10 s, and the rest a moment. */
export const STOP_DEADLINE_MS = 25_000;

export interface System {
  readonly lifecycle: Lifecycle;
  readonly ops: OpsServer;
  /** Undefined when this process does not run the API. */
  readonly api: Api | undefined;
  /** Undefined when this process runs only an agent. */
  readonly store: Store | undefined;
  /** The name under which this process holds leases. */
  readonly holder: string;
  /** The store's first key, if this start generated it. */
  firstKey(): string | undefined;
  /** Rejects when a part ends that this process needs. */
  readonly failed: Promise<never>;
}

export interface ComposeOptions {
  readonly config: Config;
  readonly dataDir: DataDir;
  readonly log: Logger;
  readonly companion?: Companion;
}

/**
 * A server beside the roles. It starts once this process holds the data folder and stops just
 * before the folder is released, even after a failed start. The agent may always call it.
 */
export interface Companion extends Service {
  /** `host:port`, once started. */
  address(): string;
}

/**
 * Connects to the servers and wires the roles; `lifecycle.start` then starts them. If a server is
 * unreachable, rejects and leaves nothing open.
 */
export async function compose(options: ComposeOptions): Promise<System> {
  const opened: Service[] = [];
  try {
    const connections = await openConnections(options, opened);
    return await wire(options, connections, opened);
  } catch (cause) {
    const lifecycle = createLifecycle(opened, options.log, STOP_DEADLINE_MS);
    await lifecycle.start();
    await lifecycle.stop().catch(() => undefined); // logged; the caller needs the first cause
    throw cause;
  }
}

interface Connections {
  readonly registry: Registry;
  /** The name under which this process holds leases. */
  readonly holder: string;
  readonly store: Store | undefined;
  /** Services that observe the store, beside the roles. */
  readonly watches: readonly Service[];
  readonly bus: Bus;
  readonly agentThreads: readonly AgentThread[];
  /** The ids of its agents, in order. */
  readonly agentIds: readonly string[];
  readonly keysOf: KeysOf;
}

/** Adds each part to `opened` once it is open, as a service that closes it. */
async function openConnections(
  { config, dataDir, log, companion }: ComposeOptions,
  opened: Service[],
): Promise<Connections> {
  const closeLater = (name: string, stop: Service["stop"]): void =>
    void opened.push({ name, start: async () => undefined, stop });
  const needsStore = config.roles.some((role) => role !== "agent");
  if (needsStore && !config.databaseUrl) {
    const unlock = lockForProcess(dataDir.path("serve.lock"), config.dataDir);
    closeLater("data folder", async () => unlock());
  }
  if (companion) {
    closeLater(companion.name, () => companion.stop());
    await companion.start();
  }
  // The agents' modules load while the store opens.
  const agentThreads = Array.from({ length: agentThreadsOf(config) }, () =>
    startAgentThread(config, log),
  );
  closeLater("agents' threads", async () => {
    await Promise.all(agentThreads.map((thread) => thread.end()));
  });
  const agents = config.roles.includes("agent") ? config.agentThreads : 0;
  const { ids: agentIds, release } = claimAgentIds(dataDir, agents, log);
  closeLater("agents' ids", async () => release());
  const registry = createRegistry({ version: VERSION });
  const observed = needsStore && (await openObservedStore(config, dataDir, log, registry));
  const { store, watches } = observed || { store: undefined, watches: [] };
  if (store) closeLater("store", () => store.close());
  const name = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const hubKeys = store && (await openHubKeys({ config, dataDir, store, log }));
  const { keysOf, sealerOf, changed } = createKeyRing(hubKeys?.keysOf ?? agentKeysOf(config));
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

async function prepareStore(store: Store, bus: Bus, { roles, location }: Config): Promise<void> {
  await ensureLocation(store, location, { served: roles.includes("agent") });
  // Messages of an in-memory bus are lost with the process.
  if (!bus.durable) await store.pendingRuns.markAllUnpublished();
}

/** `opened` comes first in the lifecycle: it is closed last, even if a later service fails. */
async function wire(
  options: ComposeOptions,
  connections: Connections,
  opened: readonly Service[],
): Promise<System> {
  const { config, log, companion } = options;
  const { store, bus, holder } = connections;
  const own = await openOwnNetwork(config, bus);
  const egressAllow = companion ? [companion.address()] : [];
  const parts = { ...options, ...connections, own, egressAllow };
  const { services, api, agent } = await composeRoles(parts);
  const firstKey = store && api ? firstKeyOf(store, options) : undefined;
  const ops: OpsServer = opsServerOf(options, { ...connections, agent }, () => lifecycle.state());
  const opsListener = announcingPort(ops, own, () => ops.address()?.port);
  const started = [
    own,
    opsListener,
    ...connections.watches,
    ...services,
    ...(firstKey ? [firstKey] : []),
  ];
  const lifecycle = createLifecycle([...opened, ...started], log, STOP_DEADLINE_MS);
  const failed = Promise.race(connections.agentThreads.map((thread) => thread.failed));
  failed.catch(() => undefined); // nobody awaits it before the start has ended
  return { lifecycle, ops, api, store, holder, firstKey: () => firstKey?.generated(), failed };
}

/** Starts last: a ready process has a key, and a failed start leaves it to the next one. */
function firstKeyOf(store: Store, { config, dataDir }: ComposeOptions) {
  let generated: string | undefined;
  return {
    name: "first key",
    generated: () => generated,
    async start() {
      generated = await ensureFirstKey(store, dataDir, config.bootstrapKey);
    },
    stop: async () => undefined,
  };
}

const opsServerOf = (
  { config, log }: ComposeOptions,
  connections: Checked,
  state: Lifecycle["state"],
): OpsServer =>
  createOpsServer({
    host: config.opsHost,
    port: config.opsPort,
    maxConnections: config.maxConnections,
    registry: connections.registry,
    threadMetrics: () => Promise.all(connections.agentThreads.map((thread) => thread.metrics())),
    state,
    checks: readinessChecks(connections),
    log,
  });

interface Checked extends Connections {
  /** The agent on the main thread. */
  readonly agent: Agent | undefined;
}

function readinessChecks({ store, bus, agent, agentThreads }: Checked): ReadinessCheck[] {
  const busCheck = {
    part: "bus",
    check() {
      const { connected, detail, degraded } = bus.status();
      if (!connected) throw new Error(detail);
      return degraded;
    },
  };
  const checkMain = (): void => {
    const refusal = agent?.refusal();
    if (refusal !== undefined) throw new Error(refusal);
  };
  const agentChecks = [checkMain, ...agentThreads.map((thread) => () => thread.check())].map(
    (check) => ({ part: "agent", check }),
  );
  return [
    ...(store ? [{ part: "database", check: () => store.ping() }] : []),
    busCheck,
    ...agentChecks,
  ];
}
