// Where this process and its hub listen: what its agent does not call, and what it looks for to know its network.
import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import type { OwnNetwork, ServerAddress } from "./agent/egress.ts";
import type { Config } from "./config.ts";
import type { Clock } from "./runtime/clock.ts";

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
  return host === "" || host.startsWith("/")
    ? []
    : [`${host}:${port || POSTGRES_PORT}`];
}

/** What answers wherever the agent's network works; none where nobody named any and there is no hub elsewhere. */
export const uplinkCheckOf = (config: Config): readonly string[] =>
  config.uplinkCheck.length > 0 ? config.uplinkCheck : natsAddresses(config);

export interface Listeners {
  readonly ops: { readonly port: number } | undefined;
  /** As a URL. */
  readonly api: string | undefined;
}

/** Ports of Sonde on this machine. A listener has another port than configured where that is 0. */
export function ownPortsOf(config: Config, { ops, api }: Listeners): number[] {
  const nats = natsAddresses(config).map((address) =>
    Number(address.slice(address.lastIndexOf(":") + 1)),
  );
  return [
    ops?.port ?? config.opsPort,
    api === undefined ? config.port : Number(new URL(api).port),
    ...nats,
  ];
}

/**
 * Looks the servers up, and again in the background now and then: what is asked for is what was found so far. An address
 * that was one of a name stays one, for a name may have others each time. Never rejects.
 */
export async function createOwnNetwork(
  config: Config,
  clock: Clock,
  listeners: () => Listeners,
  find: (name: string) => Promise<readonly LookupAddress[]> = (name) =>
    lookup(name, { all: true }),
): Promise<OwnNetwork> {
  const names = [...natsAddresses(config), ...databaseAddresses(config)];
  const found = new Map<string, ServerAddress>();
  let renewed = 0;

  const renewOne = async (server: string): Promise<void> => {
    const [, name = "", port] = /^\[?(.*?)\]?:(\d+)$/.exec(server) ?? [];
    for (const { address } of await find(name))
      found.set(`${address} ${port}`, { address, port: Number(port) });
  };
  const renew = async (): Promise<void> => {
    renewed = clock.monotonic();
    await Promise.allSettled(names.map(renewOne));
  };

  await renew();
  return {
    ports: () => ownPortsOf(config, listeners()),
    servers() {
      if (clock.monotonic() - renewed > RENEW_AFTER_MS) void renew();
      return [...found.values()];
    },
  };
}
