// Where this process and its hub listen: what its agent does not call, and what it looks for to
// know its network.
import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import type { OwnNetwork, ServerAddress } from "./egress.ts";
import type { Config } from "../config/config.ts";
import type { Clock } from "../runtime/clock.ts";

const NATS_PORT = 4222;
const POSTGRES_PORT = 5432;
const RENEW_AFTER_MS = 60_000;

/** `host:port` of each server. */
const natsAddresses = ({ natsUrls = [] }: Config): string[] =>
  natsUrls.map((url) => {
    const { hostname, port } = new URL(url);
    return `${hostname}:${port || NATS_PORT}`;
  });

/** None where it is a file, or reached through a socket in a folder. */
function databaseAddresses({ databaseUrl }: Config): string[] {
  if (!databaseUrl) return [];
  const { hostname, port, searchParams } = new URL(databaseUrl);
  const host = searchParams.get("host") ?? decodeURIComponent(hostname);
  return host === "" || host.startsWith("/") ? [] : [`${host}:${port || POSTGRES_PORT}`];
}

/**
 * What answers wherever the agent's network works; none where nobody named any and there is no hub
 * elsewhere.
 */
export const uplinkCheckOf = (config: Config): readonly string[] =>
  config.uplinkCheck.length > 0 ? config.uplinkCheck : natsAddresses(config);

export interface Listeners {
  readonly ops: { readonly port: number } | undefined;
  /** As a URL. */
  readonly api: string | undefined;
}

export interface OwnNetworkOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly listeners: () => Listeners;
  /** `host:port` of each NATS server that others have told of. */
  readonly announced: () => readonly string[];
  readonly find?: (name: string) => Promise<readonly LookupAddress[]>;
}

/**
 * Looks the servers up, and again in the background now and then: what is asked for is what was
 * found so far. What was announced once, and an address that was one of a name, stays known, for a
 * name may have others each time. Never rejects.
 */
export async function createOwnNetwork({
  config,
  clock,
  listeners,
  announced,
  find = (name) => lookup(name, { all: true }),
}: OwnNetworkOptions): Promise<OwnNetwork> {
  const database = databaseAddresses(config);
  const nats = new Set<string>();
  const natsPorts = new Set<number>();
  const found = new Map<string, ServerAddress>();
  let renewed = clock.monotonic();

  const findOne = async (server: string): Promise<void> => {
    const { name, port } = splitAddress(server);
    for (const { address } of await find(name)) found.set(`${address} ${port}`, { address, port });
  };
  const findAll = async (servers: readonly string[]): Promise<void> => {
    await Promise.allSettled(servers.map(findOne));
  };
  const learn = (servers: readonly string[]): Promise<void> => {
    const unknown = servers.filter((server) => !nats.has(server));
    for (const server of unknown) {
      nats.add(server);
      natsPorts.add(splitAddress(server).port);
    }
    return findAll(unknown);
  };
  const renew = (): Promise<void> => {
    renewed = clock.monotonic();
    return findAll([...nats, ...database]);
  };
  const refresh = (): void => {
    void learn(announced());
    if (clock.monotonic() - renewed > RENEW_AFTER_MS) void renew();
  };

  await Promise.all([learn([...natsAddresses(config), ...announced()]), findAll(database)]);
  return {
    ports() {
      refresh();
      return [...listeningPorts(config, listeners()), ...natsPorts];
    },
    servers() {
      refresh();
      return [...found.values()];
    },
  };
}

/** A listener has another port than configured where that is 0. */
const listeningPorts = (config: Config, { ops, api }: Listeners): number[] => [
  ops?.port ?? config.opsPort,
  api === undefined ? config.port : Number(new URL(api).port),
];

const splitAddress = (server: string): { name: string; port: number } => {
  const [, name = "", port] = /^\[?(.*?)\]?:(\d+)$/.exec(server) ?? [];
  return { name, port: Number(port) };
};
