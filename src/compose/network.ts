// The configured network: the servers this process uses and the ports it listens on.
import type { Bus } from "../bus/bus.ts";
import type { Config } from "../config/config.ts";
import { databaseAddressOf, databaseServerOf } from "../model/database-url.ts";
import { splitHostPort } from "../net/host-port.ts";
import { createOwnNetwork } from "../net/own-network.ts";
import type { WatchedNetwork } from "../net/own-network.ts";
import { systemClock } from "../runtime/clock.ts";
import type { Service } from "../runtime/lifecycle.ts";

const NATS_PORT = 4222;

export const openOwnNetwork = (config: Config, bus: Bus): Promise<WatchedNetwork> =>
  createOwnNetwork({
    clock: systemClock,
    ports: portsOf(config),
    servers: serversOf(config),
    announced: () => bus.announcedServers(),
  });

/**
 * Includes the ports of NATS servers, which may be tunnelled to this machine. Omits port 0: the
 * actual port is known only once its listener has started.
 */
export const portsOf = (config: Config): number[] =>
  [
    config.opsPort,
    config.port,
    ...natsServers(config).map((server) => splitHostPort(server).port),
  ].filter((port) => port !== 0);

/** `host:port` of the bus and the database. */
export const serversOf = (config: Config): string[] => [
  ...natsServers(config),
  ...databaseServers(config),
];

/** `host:port` of hosts that answer whenever the agent's network works; empty: no check. */
export const uplinkCheckOf = (config: Config): readonly string[] =>
  config.uplinkCheck.length > 0 ? config.uplinkCheck : natsServers(config);

/** Returns the listener; it adds its port to the own network as soon as it listens. */
export const announcingPort = (
  listener: Service,
  own: WatchedNetwork,
  port: () => number | undefined,
): Service => ({
  name: listener.name,
  async start() {
    await listener.start();
    const taken = port();
    if (taken !== undefined) own.listensOn(taken);
  },
  stop: () => listener.stop(),
});

const natsServers = ({ natsUrls }: Config): string[] =>
  (natsUrls ?? []).map((url) => {
    const { hostname, port } = new URL(url);
    return `${hostname}:${port || NATS_PORT}`;
  });

/** Empty for SQLite, and for a Unix socket. */
const databaseServers = ({ databaseUrl }: Config): string[] =>
  databaseUrl && !databaseServerOf(databaseUrl).isSocket ? [databaseAddressOf(databaseUrl)] : [];
