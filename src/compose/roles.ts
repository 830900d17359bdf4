// The roles of a process, each wired to what it needs.
import { createHmac } from "node:crypto";
import { createAgent } from "../agent/agent.ts";
import { parseEgressAllow } from "../net/egress.ts";
import type { WatchedNetwork } from "../net/own-network.ts";
import { createHostResolver } from "../net/resolve-host.ts";
import type { HostResolver } from "../net/resolve-host.ts";
import { createAgentMetrics } from "../agent/metrics.ts";
import { createAggregator } from "../aggregator/aggregator.ts";
import { createAggregatorMetrics } from "../aggregator/metrics.ts";
import { createApiMetrics } from "../api/metrics.ts";
import { createAnswerPruning } from "../api/answer-pruning.ts";
import { createApi } from "../api/server.ts";
import type { Api } from "../api/server.ts";
import type { Bus } from "../bus/bus.ts";
import type { Config, Role } from "../config/config.ts";
import { locationKeysOf, masterKeyOf, tickSealerOf } from "./store.ts";
import type { DataDir } from "../runtime/data-dir.ts";
import { createDispatcher } from "../dispatch/dispatch.ts";
import type { Dispatcher } from "../dispatch/dispatch.ts";
import { announcingPort, uplinkCheckOf } from "./network.ts";
import { systemClock } from "../runtime/clock.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Registry } from "../runtime/metrics.ts";
import { createRenewalMetrics } from "../renewal/metrics.ts";
import { createRenewalService } from "../renewal/renewal.ts";
import { createSchedulerMetrics } from "../scheduler/metrics.ts";
import { createScheduler } from "../scheduler/scheduler.ts";
import type { Store } from "../store/store.ts";
import { VERSION } from "../version.ts";

export interface RoleParts {
  readonly config: Config;
  readonly dataDir: DataDir;
  readonly log: Logger;
  /** Undefined where no role needs it. */
  readonly store: Store | undefined;
  readonly bus: Bus;
  readonly registry: Registry;
  /** This process, among those of its kind. */
  readonly holder: string;
  readonly own: WatchedNetwork;
  /** Addresses that may be called beyond those that the configuration allows. */
  readonly egressAllow: readonly string[];
}

export interface Roles {
  /** In the order to start: what takes results before what makes them, what orders runs last. */
  readonly services: readonly Service[];
  readonly api: Api | undefined;
}

/** Of the roles that the configuration names. */
export function composeRoles(parts: RoleParts): Roles {
  const { config, dataDir, bus, store } = parts;
  const has = (role: Role): boolean => config.roles.includes(role);
  const services: Service[] = [];
  // One for all: each may occupy one of the few threads that look names up.
  const resolver = createHostResolver({ clock: systemClock });
  if (store && has("aggregator")) services.push(aggregatorOf(parts, store));
  if (has("agent")) services.push(agentOf(parts, resolver));
  if (!store) return { services, api: undefined };
  const sealTick = tickSealerOf(config, dataDir);
  const dispatcher = createDispatcher({ store, bus, sealTick });
  if (has("scheduler"))
    services.push(schedulerOf(parts, store, dispatcher), renewalOf(parts, store, resolver));
  if (!has("api")) return { services, api: undefined };
  const api = apiOf(parts, store, dispatcher);
  services.push(
    announcingPort(api, parts.own, () => portOf(api)),
    createAnswerPruning({ store, log: logOf(parts, "api") }),
  );
  return { services, api };
}

function portOf(api: Api): number | undefined {
  const address = api.address();
  return address === undefined ? undefined : Number(new URL(address).port);
}

const logOf = ({ log }: RoleParts, role: Role): Logger => log.child({ role });

const egressOf = ({ config, egressAllow, own }: RoleParts) => ({
  allow: [...config.egressAllow, ...egressAllow],
  own,
});

const aggregatorOf = (parts: RoleParts, store: Store): Service =>
  createAggregator({
    bus: parts.bus,
    store,
    clock: systemClock,
    log: logOf(parts, "aggregator"),
    metrics: createAggregatorMetrics(parts.registry),
  });

function agentOf(parts: RoleParts, resolver: HostResolver): Service {
  const { config, dataDir, bus, registry, holder, store } = parts;
  return createAgent({
    bus,
    clock: systemClock,
    log: logOf(parts, "agent"),
    metrics: createAgentMetrics(registry),
    locationId: config.location,
    agentId: holder,
    version: VERSION,
    locationKeys: locationKeysOf(config, dataDir, {
      hasMaster: store !== undefined,
    }),
    egress: egressOf(parts),
    resolver,
    uplinkCheck: uplinkCheckOf(config),
    ...(bus.durable && { spoolPath: dataDir.path("spool.db") }),
    concurrency: config.agentConcurrency,
  });
}

const schedulerOf = (parts: RoleParts, store: Store, dispatcher: Dispatcher): Service =>
  createScheduler({
    store,
    dispatcher,
    holder: parts.holder,
    log: logOf(parts, "scheduler"),
    metrics: createSchedulerMetrics(parts.registry),
  });

function renewalOf(parts: RoleParts, store: Store, resolver: HostResolver): Service {
  const { allow, own } = egressOf(parts);
  return createRenewalService({
    store,
    egress: parseEgressAllow(allow, own),
    resolver,
    log: logOf(parts, "scheduler"),
    metrics: createRenewalMetrics(parts.registry),
  });
}

function apiOf(parts: RoleParts, store: Store, dispatcher: Dispatcher): Api {
  const { config, dataDir, registry } = parts;
  return createApi({
    store,
    dispatcher,
    clock: systemClock,
    log: logOf(parts, "api"),
    metrics: createApiMetrics(registry),
    config: {
      host: config.host,
      port: config.port,
      tokenInQuery: config.tokenInQuery,
      cursorKey: createHmac("sha256", masterKeyOf(config, dataDir)).update("cursor").digest(),
      version: VERSION,
    },
  });
}
