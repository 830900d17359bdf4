// The roles of a process, each wired to its dependencies.
import { createHmac } from "node:crypto";
import { readdirSync } from "node:fs";
import type { Agent } from "../agent/agent.ts";
import { createAggregator, createNoticePruning } from "../aggregator/aggregator.ts";
import { createInsightsService } from "../aggregator/insights.ts";
import { createAggregatorMetrics, createInsightMetrics } from "../aggregator/metrics.ts";
import { createRetention } from "../aggregator/retention.ts";
import { createAnswerPruning } from "../api/idempotency.ts";
import { createSessionPruning } from "../api/sessions.ts";
import { createApiMetrics } from "../api/metrics.ts";
import type { Api } from "../api/server.ts";
import type { Config } from "../config/config.ts";
import type { Role } from "../config/settings.ts";
import { createCredentialsService } from "../dispatch/call-credentials.ts";
import type { Dispatcher } from "../dispatch/dispatch.ts";
import { createWaitingRuns } from "../dispatch/waiting-runs.ts";
import { createFleet } from "../fleet/fleet.ts";
import { createFleetMetrics } from "../fleet/metrics.ts";
import { parseEgressAllow } from "../net/egress.ts";
import type { WatchedNetwork } from "../net/own-network.ts";
import { createHostResolver } from "../net/resolve-host.ts";
import { createRenewalMetrics } from "../renewal/metrics.ts";
import { createRenewalService } from "../renewal/renewal.ts";
import { systemClock } from "../runtime/clock.ts";
import { createDiskWatch } from "../runtime/disk.ts";
import { together } from "../runtime/lifecycle.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import { releaseMemory } from "../runtime/memory.ts";
import { createSchedulerMetrics } from "../scheduler/metrics.ts";
import { createScheduler } from "../scheduler/scheduler.ts";
import type { Store } from "../store/store.ts";
import { VERSION } from "../version.ts";
import type { AgentOrder } from "./agent.ts";
import type { ComposeOptions, Connections } from "./connections.ts";
import { registerCredentialExpiry } from "./credential-expiry.ts";
import { announcingPort, uplinkCheckOf } from "./network.ts";
import { masterKeyOf, retentionOf } from "./store.ts";

export interface RoleParts extends ComposeOptions, Connections {
  readonly own: WatchedNetwork;
}

/** Parts of the roles that use the store. */
interface HubParts extends RoleParts {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
}

export interface Roles {
  /** In start order: consumers of results, then their producers, then those that order runs. */
  readonly services: readonly Service[];
  readonly api: Api | undefined;
  /** The agent on the main thread. */
  readonly agent: Agent | undefined;
}

/** Composes the configured roles; the modules of the agent and the API load only for them. */
export async function composeRoles(parts: RoleParts): Promise<Roles> {
  const has = (role: Role): boolean => parts.config.roles.includes(role);
  const hub = hubPartsOf(parts);
  const services: Service[] = watchesOf(parts, hub);
  if (hub && has("aggregator")) services.push(...aggregatorOf(hub));
  const agent = has("agent") ? await mainAgentOf(parts) : undefined;
  if (has("agent")) services.push(agent ?? agentsOf(parts));
  if (hub && has("scheduler"))
    services.push(schedulerOf(hub), renewalOf(hub), createCredentialsService(hub.dispatcher));
  const api = hub && has("api") ? await apiOf(hub) : undefined;
  if (hub && api)
    services.push(
      announcingPort(api, parts.own, () => portOf(api)),
      createAnswerPruning({ store: hub.store, log: logOf(parts, "api") }),
      createSessionPruning({
        store: hub.store,
        log: logOf(parts, "api"),
        idleMs: sessionIdleMs(parts.config),
      }),
    );
  return { services, api, agent };
}

function hubPartsOf(parts: RoleParts): HubParts | undefined {
  const { store, bus } = parts;
  if (!store) return undefined;
  const waiting = createWaitingRuns(parts.config.maxWaitingMiB);
  return { ...parts, store, dispatcher: { store, bus, waiting } };
}

/** Services that measure in the background, for /metrics. */
function watchesOf({ config, registry, log }: RoleParts, hub: HubParts | undefined): Service[] {
  const disk = createDiskWatch({ name: "data", folder: config.dataDir, registry, log });
  if (!hub) {
    registerCredentialExpiry(registry, config, () => undefined);
    return [disk];
  }
  const metrics = createFleetMetrics(registry);
  registerCredentialExpiry(registry, config, metrics.tokenExpiry.get);
  const { store, bus } = hub;
  const countsDeployments = config.roles.includes("scheduler");
  return [disk, createFleet({ store, bus, clock: systemClock, log, metrics, countsDeployments })];
}

const logOf = ({ log }: RoleParts, role: Role): Logger => log.child({ role });

/** Returns the allowed targets beyond public addresses. */
const allowedTargets = ({ config, demo }: RoleParts): string[] => [
  ...config.egressAllow,
  ...(demo ? [demo.address()] : []),
];

function aggregatorOf(parts: HubParts): Service[] {
  const { bus, config, holder } = parts;
  const options = {
    store: parts.store,
    clock: systemClock,
    log: logOf(parts, "aggregator"),
    metrics: createAggregatorMetrics(parts.registry),
  };
  const days = retentionOf(config);
  const metrics = createInsightMetrics(parts.registry);
  return [
    createAggregator({ ...options, bus, version: VERSION }),
    createInsightsService({ ...options, metrics, holder }),
    createRetention({ ...options, days, holder }),
    createNoticePruning(options),
  ];
}

/** Undefined if each agent has a thread. */
async function mainAgentOf(parts: RoleParts): Promise<Agent | undefined> {
  if (parts.agentThreads.length > 0) return undefined;
  const { composeAgent } = await import("./agent.ts");
  const agent = composeAgent(agentOrder(parts, 1, 1), parts);
  releaseMemory(); // now, since no call should wait for it
  return agent;
}

/** Agents stop together: one after another, their runs in flight would exceed the deadline. */
function agentsOf(parts: RoleParts): Service {
  const { agentThreads, bus, own, keysOf, config } = parts;
  const locationKeys = keysOf(config.location);
  const agents = agentThreads.map((thread, at) => {
    const order = agentOrder(parts, at + 1, agentThreads.length);
    return thread.service({ ...order, locationKeys }, bus, own);
  });
  return together(`agents of ${config.location}`, agents);
}

/** Returns the order for agent `n`, from 1, of so many agents. */
function agentOrder(parts: RoleParts, n: number, agents: number): AgentOrder {
  const { config, bus, agentIds } = parts;
  return {
    locationId: config.location,
    agentId: agentIds[n - 1] ?? "",
    egressAllow: allowedTargets(parts),
    uplinkCheck: uplinkCheckOf(config),
    ...(bus.durable && spoolsOf(parts, n, agents)),
    // The first ones take the remainder.
    concurrency: Math.floor((config.agentConcurrency + agents - n) / agents),
  };
}

/** The first agent takes over spools left by a larger number of agents. */
function spoolsOf({ config, dataDir }: RoleParts, n: number, agents: number) {
  const isLeft = (file: string): boolean =>
    Number(/^spool-(\d+)\.db$/.exec(file)?.[1] ?? 0) > agents;
  const left = n === 1 ? readdirSync(config.dataDir).filter(isLeft) : [];
  return {
    spoolPath: dataDir.path(n === 1 ? "spool.db" : `spool-${n}.db`),
    leftSpoolPaths: left.map((file) => dataDir.path(file)),
  };
}

const schedulerOf = (parts: HubParts): Service =>
  createScheduler({
    store: parts.store,
    clock: systemClock,
    dispatcher: parts.dispatcher,
    holder: parts.holder,
    log: logOf(parts, "scheduler"),
    metrics: createSchedulerMetrics(parts.registry),
  });

const renewalOf = (parts: HubParts): Service =>
  createRenewalService({
    egress: parseEgressAllow(allowedTargets(parts), parts.own),
    resolver: createHostResolver({ clock: systemClock }),
    version: VERSION,
    store: parts.store,
    log: logOf(parts, "scheduler"),
    metrics: createRenewalMetrics(parts.registry),
  });

async function apiOf(parts: HubParts): Promise<Api> {
  const { createApi } = await import("../api/server.ts");
  const { config, dataDir } = parts;
  return createApi({
    store: parts.store,
    dispatcher: parts.dispatcher,
    clock: systemClock,
    log: logOf(parts, "api"),
    metrics: createApiMetrics(parts.registry),
    config: {
      host: config.host,
      port: config.port,
      maxConnections: config.maxConnections,
      trustProxy: config.trustProxy,
      publicUrl: config.publicUrl,
      tokenInQuery: config.tokenInQuery,
      sessionIdleMs: sessionIdleMs(config),
      maxEventStreams: config.maxEventStreams,
      cursorKey: createHmac("sha256", masterKeyOf(config, dataDir)).update("cursor").digest(),
      version: VERSION,
      limits: {
        requestsPerMinute: config.maxRequestsPerMinute,
        objects: config.maxObjects,
        definitionsMiB: config.maxDefinitionsMiB,
        keys: config.maxKeys,
        manualRuns: config.maxManualRuns,
      },
    },
  });
}

const sessionIdleMs = ({ sessionIdleMinutes }: Config): number => sessionIdleMinutes * 60_000;

function portOf(api: Api): number | undefined {
  const address = api.address();
  return address === undefined ? undefined : Number(new URL(address).port);
}
