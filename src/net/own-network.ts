// Tracks where this process listens and which servers it uses: off limits to calls unless the
// operator names the exact address and port. Egress rules use what is known so far: no call waits
// for a lookup.
import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import type { Clock } from "../runtime/clock.ts";
import { serverAt } from "./egress.ts";
import type { OwnNetwork } from "./egress.ts";
import { splitHostPort } from "./host-port.ts";

const ANNOUNCED_EVERY_MS = 1_000;
const LOOK_UP_EVERY_MS = 60_000;

export interface OwnNetworkOptions {
  readonly clock: Clock;
  /** Known ports of this process, and of servers that may run on this machine. */
  readonly ports: readonly number[];
  /** `host:port` of each server that this process uses. */
  readonly servers: readonly string[];
  /** `host:port` of the bus's servers announced so far; called every second. */
  readonly announced: () => readonly string[];
  readonly find?: (name: string) => Promise<readonly LookupAddress[]>;
}

export type WatchedNetwork = Awaited<ReturnType<typeof createOwnNetwork>>;

/**
 * Resolves once the servers have been looked up; never rejects. While it runs as a service, it adds
 * announced servers and repeats the lookups. Nothing is forgotten: a name may resolve to other
 * addresses each time.
 */
export async function createOwnNetwork({
  clock,
  ports: knownPorts,
  servers: knownServers,
  announced,
  find = (name) => lookup(name, { all: true }),
}: OwnNetworkOptions) {
  const names = new Set(knownServers);
  const known = createKnown(knownPorts);
  const stopping = new AbortController();

  const lookUp = async (server: string): Promise<void> => {
    const { host, port } = splitHostPort(server);
    for (const { address } of await find(host)) known.addServer(serverAt(address, port));
  };
  const lookUpAll = (all: Iterable<string>): Promise<unknown> =>
    Promise.allSettled([...all].map(lookUp));
  const learnAnnounced = (): Promise<unknown> => {
    const unknown = announced().filter((server) => !names.has(server));
    for (const server of unknown) {
      names.add(server);
      known.addPort(splitHostPort(server).port);
    }
    return lookUpAll(unknown);
  };
  const watch = async (): Promise<void> => {
    let lookedUp = clock.monotonic();
    for (;;) {
      await clock.pause(ANNOUNCED_EVERY_MS, stopping.signal);
      void learnAnnounced();
      if (clock.monotonic() - lookedUp < LOOK_UP_EVERY_MS) continue;
      lookedUp = clock.monotonic();
      void lookUpAll(names);
    }
  };

  await Promise.all([lookUpAll(names), learnAnnounced()]);
  return {
    name: "own network",
    ports: known.ports,
    servers: known.servers,
    /** Adds a port that this process listens on. */
    listensOn: known.addPort,
    onGrowth: known.onGrowth,
    async start(): Promise<void> {
      watch().catch(() => undefined); // ends with stop()
    },
    async stop(): Promise<void> {
      stopping.abort();
    },
  };
}

function createKnown(first: readonly number[]) {
  const ports = new Set(first);
  const servers = new Set<string>();
  const listeners: ((known: OwnNetwork) => void)[] = [];
  const notify = (): void => {
    for (const listener of listeners) listener({ ports, servers });
  };
  return {
    ports,
    servers,
    addPort: (port: number): void => {
      ports.add(port);
      notify();
    },
    addServer: (server: string): void => {
      if (servers.has(server)) return;
      servers.add(server);
      notify();
    },
    /** Calls back now and after each addition. */
    onGrowth: (listener: (known: OwnNetwork) => void): void => {
      listeners.push(listener);
      listener({ ports, servers });
    },
  };
}
