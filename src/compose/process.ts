// The composition root: wires the parts of a process; its lifecycle starts and stops them in order.
import type { Agent } from "../agent/agent.ts";
import type { Api } from "../api/server.ts";
import { createLifecycle } from "../runtime/lifecycle.ts";
import type { Lifecycle, Service } from "../runtime/lifecycle.ts";
import { createOpsServer } from "../runtime/ops-server.ts";
import type { OpsServer, ReadinessCheck } from "../runtime/ops-server.ts";
import type { Store } from "../store/store.ts";
import { openConnections } from "./connections.ts";
import type { ComposeOptions, Connections } from "./connections.ts";
import { ensureFirstKey } from "./first-start.ts";
import { announcingPort, openOwnNetwork } from "./network.ts";
import { composeRoles } from "./roles.ts";

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

/** `opened` comes first in the lifecycle: it is closed last, even if a later service fails. */
async function wire(
  options: ComposeOptions,
  connections: Connections,
  opened: readonly Service[],
): Promise<System> {
  const { config, log } = options;
  const { store, bus, holder } = connections;
  const own = await openOwnNetwork(config, bus);
  const parts = { ...options, ...connections, own };
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
    checks: readinessChecks(connections, config.roles.includes("api")),
    log,
  });

interface Checked extends Connections {
  /** The agent on the main thread. */
  readonly agent: Agent | undefined;
}

function readinessChecks(
  { store, bus, agent, agentThreads }: Checked,
  servesApi: boolean,
): ReadinessCheck[] {
  const busCheck = {
    part: "bus",
    check() {
      const { connected, detail, degraded } = bus.status();
      if (connected) return degraded;
      // Without a bus, an API still serves what is stored: balancers must not leave it out.
      if (servesApi) return detail;
      throw new Error(detail);
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
