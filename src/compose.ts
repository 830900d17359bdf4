// The composition root: the only file that names an adapter.
import { createHmac, randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { createAgent } from "./agent/agent.ts";
import { parseEgressAllow } from "./agent/egress.ts";
import type { OwnNetwork } from "./agent/egress.ts";
import { createAgentMetrics } from "./agent/metrics.ts";
import { createAggregator } from "./aggregator/aggregator.ts";
import { createAggregatorMetrics } from "./aggregator/metrics.ts";
import { createApiMetrics } from "./api/metrics.ts";
import { createAnswerPruning } from "./api/answer-pruning.ts";
import { createApi } from "./api/server.ts";
import type { Api } from "./api/server.ts";
import type { Bus } from "./bus/bus.ts";
import type { Config, Role } from "./config.ts";
import { openConfiguredBus } from "./configured-bus.ts";
import {
  locationKeysOf,
  masterKeyOf,
  openConfiguredStore,
  tickSealerOf,
} from "./configured-store.ts";
import type { DataDir } from "./data-dir.ts";
import { createDispatcher } from "./dispatch/dispatch.ts";
import { ensureFirstKey, ensureLocation } from "./first-start.ts";
import { createOwnNetwork, uplinkCheckOf } from "./own-network.ts";
import { systemClock } from "./runtime/clock.ts";
import { createLifecycle } from "./runtime/lifecycle.ts";
import type { Lifecycle, Service } from "./runtime/lifecycle.ts";
import type { Logger } from "./runtime/logger.ts";
import { createRegistry } from "./runtime/metrics.ts";
import type { Registry } from "./runtime/metrics.ts";
import { createOpsServer } from "./runtime/ops-server.ts";
import type { OpsServer, ReadinessCheck } from "./runtime/ops-server.ts";
import { createSchedulerMetrics } from "./scheduler/metrics.ts";
import { createRenewalMetrics } from "./renewal/metrics.ts";
import { createRenewalService } from "./renewal/renewal.ts";
import { createScheduler } from "./scheduler/scheduler.ts";
import { lockForProcess } from "./store/process-lock.ts";
import type { Store } from "./store/store.ts";
import { VERSION } from "./version.ts";

/** Token endpoints have 10 s to answer, and runs in flight then 10 s to finish; what follows them needs a moment more. */
const STOP_DEADLINE_MS = 25_000;

export interface System {
  readonly lifecycle: Lifecycle;
  readonly ops: OpsServer;
  /** Of the roles that this process has. */
  readonly api: Api | undefined;
  readonly store: Store | undefined;
  /** The first key of the store, where this start made it up. */
  firstKey(): string | undefined;
}

export interface ComposeOptions {
  readonly config: Config;
  readonly dataDir: DataDir;
  readonly log: Logger;
  /** Started before the roles and stopped after them. */
  readonly companions?: readonly Service[];
  /** Addresses that the agent may call beyond those that the configuration allows. */
  readonly egressAllow?: readonly string[];
}

/** Connects what the roles need and wires them. Rejects, with nothing left open, when something cannot be reached. */
export async function compose(options: ComposeOptions): Promise<System> {
  const { config, dataDir, log, companions = [] } = options;
  const registry = createRegistry({ version: VERSION });
  const holder = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const needsStore = config.roles.some((role) => role !== "agent");
  const unlock =
    needsStore && !config.databaseUrl
      ? lockForProcess(dataDir.path("serve.lock"), config.dataDir)
      : () => undefined;
  let store: Store | undefined;
  let bus: Bus;
  try {
    store = needsStore
      ? await openConfiguredStore(config, dataDir, log)
      : undefined;
    bus = await openConfiguredBus(config, log, registry, holder);
    const served = config.roles.includes("agent");
    if (store) await ensureLocation(store, config.location, { served });
    if (store && !bus.durable) await store.pendingRuns.markAllUnpublished();
  } catch (cause) {
    await store?.close();
    unlock();
    throw cause;
  }
  const own = await createOwnNetwork({
    config,
    clock: systemClock,
    listeners: () => ({ ops: ops.address(), api: roles.api?.address() }),
    announced: () => bus.announcedServers(),
  });
  const roles = composeRoles({ ...options, store, bus, registry, holder, own });
  const services: Service[] = [...companions, ...roles.services];
  let firstKey: string | undefined;
  if (store && roles.api)
    services.push({
      // Last, so that a start that fails leaves it to the next one to show the key; ready means that there is one.
      name: "first key",
      async start() {
        firstKey = await ensureFirstKey(store, dataDir, config.bootstrapKey);
      },
      stop: async () => undefined,
    });
  const ops: OpsServer = createOpsServer({
    host: config.host,
    port: config.opsPort,
    registry,
    state: () => lifecycle.state(),
    checks: readinessChecks(store, bus),
    log,
  });
  // What is open already stands in front: whatever fails to start, it is closed.
  const open = [closing("bus", () => bus.close())];
  if (store) open.unshift(closing("store", () => store.close()));
  open.unshift(closing("data folder", async () => unlock()));
  const lifecycle = createLifecycle(
    [...open, ops, ...services],
    log,
    STOP_DEADLINE_MS,
  );
  return { lifecycle, ops, api: roles.api, store, firstKey: () => firstKey };
}

interface Parts extends ComposeOptions {
  readonly store: Store | undefined;
  readonly bus: Bus;
  readonly registry: Registry;
  readonly holder: string;
  readonly own: OwnNetwork;
}

/** In the order to start: what takes results before what makes them, what orders runs last. */
function composeRoles(parts: Parts): {
  readonly services: Service[];
  readonly api: Api | undefined;
} {
  const {
    config,
    log: root,
    store,
    bus,
    registry,
    holder,
    dataDir,
    egressAllow = [],
  } = parts;
  const clock = systemClock;
  const allow = [...config.egressAllow, ...egressAllow];
  const egress = { allow, own: parts.own };
  const has = (role: Role): boolean => config.roles.includes(role);
  const log = (role: Role): Logger => root.child({ role });
  const services: Service[] = [];
  let api: Api | undefined;
  if (store && has("aggregator"))
    services.push(
      createAggregator({
        bus,
        store,
        clock,
        log: log("aggregator"),
        metrics: createAggregatorMetrics(registry),
      }),
    );
  if (has("agent"))
    services.push(
      createAgent({
        bus,
        clock,
        log: log("agent"),
        metrics: createAgentMetrics(registry),
        locationId: config.location,
        agentId: holder,
        version: VERSION,
        locationKeys: locationKeysOf(config, dataDir, {
          hasMaster: store !== undefined,
        }),
        egress,
        uplinkCheck: uplinkCheckOf(config),
        ...(bus.durable && { spoolPath: dataDir.path("spool.db") }),
        concurrency: config.agentConcurrency,
      }),
    );
  if (!store) return { services, api };
  const dispatcher = createDispatcher({
    store,
    bus,
    sealTick: tickSealerOf(config, dataDir),
  });
  if (has("scheduler"))
    services.push(
      createScheduler({
        store,
        dispatcher,
        holder,
        log: log("scheduler"),
        metrics: createSchedulerMetrics(registry),
      }),
      createRenewalService({
        store,
        egress: parseEgressAllow(allow, parts.own),
        log: log("scheduler"),
        metrics: createRenewalMetrics(registry),
      }),
    );
  if (has("api")) {
    api = createApi({
      store,
      dispatcher,
      clock,
      log: log("api"),
      metrics: createApiMetrics(registry),
      config: {
        host: config.host,
        port: config.port,
        tokenInQuery: config.tokenInQuery,
        cursorKey: createHmac("sha256", masterKeyOf(config, dataDir))
          .update("cursor")
          .digest(),
        version: VERSION,
      },
    });
    services.push(api, createAnswerPruning({ store, log: log("api") }));
  }
  return { services, api };
}

const closing = (name: string, stop: () => Promise<void>): Service => ({
  name,
  start: async () => undefined,
  stop,
});

function readinessChecks(store: Store | undefined, bus: Bus): ReadinessCheck[] {
  const busCheck = {
    part: "bus",
    check() {
      const { connected, detail } = bus.status();
      if (!connected) throw new Error(detail);
    },
  };
  return store
    ? [{ part: "database", check: () => store.ping() }, busCheck]
    : [busCheck];
}
