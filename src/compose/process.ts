// The composition root: what a process opens, starts and stops, and in which order.
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Api } from "../api/server.ts";
import type { Bus } from "../bus/bus.ts";
import { composeRoles } from "./roles.ts";
import type { Config } from "../config/config.ts";
import { openConfiguredBus } from "./bus.ts";
import { openConfiguredStore } from "./store.ts";
import type { DataDir } from "../runtime/data-dir.ts";
import { ensureFirstKey, ensureLocation } from "./first-start.ts";
import { announcingPort, openOwnNetwork } from "./network.ts";
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

/**
 * Token endpoints have 10 s to answer, and runs in flight then 10 s to finish; what follows them
 * needs a moment more.
 */
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
  readonly companion?: Companion;
}

/**
 * A server that goes along with the roles: it starts once the data folder is this process's own,
 * and stops last but for that, also where its start failed. The agent may call it, whatever the
 * configuration allows.
 */
export interface Companion extends Service {
  /** As `host:port`, once it has started. */
  address(): string;
}

/**
 * Connects what the roles need and wires them. Rejects, with nothing left open, when something
 * cannot be reached.
 */
export async function compose(options: ComposeOptions): Promise<System> {
  const open: Service[] = [];
  try {
    return await wire(options, await connect(options, open), open);
  } catch (cause) {
    const opened = createLifecycle(open, options.log, STOP_DEADLINE_MS);
    await opened.start();
    await opened.stop().catch(() => undefined); // logged; what matters is why it was not composed
    throw cause;
  }
}

interface Connections {
  readonly registry: Registry;
  /** This process, among those of its kind. */
  readonly holder: string;
  readonly store: Store | undefined;
  readonly bus: Bus;
}

/** Each that is open stands in `open` at once, with what closes it. */
async function connect(
  { config, dataDir, log, companion }: ComposeOptions,
  open: Service[],
): Promise<Connections> {
  const opened = (name: string, stop: Service["stop"]): unknown =>
    open.push({ name, start: async () => undefined, stop });
  const registry = createRegistry({ version: VERSION });
  const holder = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const needsStore = config.roles.some((role) => role !== "agent");
  if (needsStore && !config.databaseUrl) {
    const unlock = lockForProcess(dataDir.path("serve.lock"), config.dataDir);
    opened("data folder", async () => unlock());
  }
  if (companion) opened(companion.name, () => companion.stop());
  await companion?.start();
  const store = needsStore ? await openConfiguredStore(config, dataDir, log) : undefined;
  if (store) opened("store", () => store.close());
  const bus = await openConfiguredBus(config, log, registry, holder);
  opened("bus", () => bus.close());
  const served = config.roles.includes("agent");
  if (store) await ensureLocation(store, config.location, { served });
  if (store && !bus.durable) await store.pendingRuns.markAllUnpublished();
  return { registry, holder, store, bus };
}

/** What is open stands in front of what starts: whatever fails to start, it is closed. */
async function wire(
  options: ComposeOptions,
  connections: Connections,
  open: readonly Service[],
): Promise<System> {
  const { config, dataDir, log, companion } = options;
  const { registry, store, bus } = connections;
  const own = await openOwnNetwork(config, bus);
  const roles = composeRoles({
    ...options,
    ...connections,
    own,
    egressAllow: companion ? [companion.address()] : [],
  });
  const services = [...roles.services];
  let firstKey: string | undefined;
  if (store && roles.api)
    services.push({
      // Last, so that a start that fails leaves it to the next one to show the key; ready means
      // that there is one.
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
  const opsListener = announcingPort(ops, own, () => ops.address()?.port);
  const lifecycle = createLifecycle(
    [...open, own, opsListener, ...services],
    log,
    STOP_DEADLINE_MS,
  );
  return { lifecycle, ops, api: roles.api, store, firstKey: () => firstKey };
}

function readinessChecks(store: Store | undefined, bus: Bus): ReadinessCheck[] {
  const busCheck = {
    part: "bus",
    check() {
      const { connected, detail } = bus.status();
      if (!connected) throw new Error(detail);
    },
  };
  return store ? [{ part: "database", check: () => store.ping() }, busCheck] : [busCheck];
}
