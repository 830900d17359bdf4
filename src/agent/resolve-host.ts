// Names to addresses. Asked of the name servers without the thread pool, so that slow ones hold up nobody else;
// a lookup through getaddrinfo would occupy one of few threads until it ends.
import { lookup, Resolver } from "node:dns/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../runtime/clock.ts";
import { createHostsFile } from "./hosts-file.ts";
import { dnsFailure } from "./failure.ts";

export interface HostResolver {
  /** IPv4 addresses first. Rejects with a `CallFailure`. */
  resolve(host: string): Promise<string[]>;
}

export interface ResolverSettings {
  readonly clock: Clock;
  /** `address:port` of the name servers; default: the system's. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
}

const QUERY_TIMEOUT_MS = 3000;
const QUERY_TRIES = 3;
// RFC 8305 section 3: how long addresses of one family wait for those of the other.
const RESOLUTION_DELAY_MS = 50;
const RENEW_AFTER_MS = 60_000;

export function createHostResolver({
  clock,
  servers,
  hostsFile = "/etc/hosts",
}: ResolverSettings): HostResolver {
  const hosts = createHostsFile(hostsFile, clock);
  let [resolver, made] = [newResolver(servers), clock.monotonic()];

  // The name servers are read when a resolver is made; the system's may change while the agent runs.
  const current = (): Resolver => {
    if (!servers && clock.monotonic() - made > RENEW_AFTER_MS)
      [resolver, made] = [newResolver(servers), clock.monotonic()];
    return resolver;
  };

  return {
    async resolve(host) {
      const name = host.toLowerCase().replace(/\.$/, "");
      const known = (await hosts.find(name)) ?? specialName(name);
      if (known) return known;
      try {
        return await queryBoth(current(), name);
      } catch (cause) {
        return await throughSystem(name, cause, servers === undefined);
      }
    },
  };
}

function newResolver(servers: readonly string[] | undefined): Resolver {
  const resolver = new Resolver({
    timeout: QUERY_TIMEOUT_MS,
    tries: QUERY_TRIES,
  });
  if (servers) resolver.setServers(servers);
  return resolver;
}

/** RFC 6761 sections 6.3 and 6.4: never asked of a name server. */
function specialName(name: string): string[] | undefined {
  if (name === "localhost" || name.endsWith(".localhost"))
    return ["127.0.0.1", "::1"];
  if (name === "invalid" || name.endsWith(".invalid"))
    throw dnsFailure(noAddress(), name);
  return undefined;
}

async function queryBoth(resolver: Resolver, name: string): Promise<string[]> {
  const four = resolver.resolve4(name).then(atLeastOne);
  const six = resolver.resolve6(name).then(atLeastOne);
  try {
    await Promise.any([four, six]);
  } catch (cause) {
    throw tellingCause(cause as AggregateError);
  }
  const late = delay(RESOLUTION_DELAY_MS, [], { ref: false });
  const answers = await Promise.all(
    [four, six].map((answer) => Promise.race([answer.catch(() => []), late])),
  );
  return answers.flat();
}

const noAddress = (): Error =>
  Object.assign(new Error("no address"), { code: "ENOTFOUND" });

/** An alias that leads nowhere is answered without an address. */
function atLeastOne(addresses: string[]): string[] {
  if (addresses.length === 0) throw noAddress();
  return addresses;
}

/** That one family has no address says less than that the question for the other one failed. */
const tellingCause = ({ errors }: AggregateError): unknown =>
  errors.find((cause) => dnsFailure(cause, "").code !== "dns_not_found") ??
  errors[0];

/** What DNS does not know may be a name of the local network: a search list, multicast DNS. */
async function throughSystem(
  name: string,
  cause: unknown,
  ask: boolean,
): Promise<string[]> {
  const failure = dnsFailure(cause, name);
  if (!ask || failure.code !== "dns_not_found") throw failure;
  const found = await lookup(name, { all: true }).catch(() => []);
  if (found.length === 0) throw failure;
  return found
    .toSorted((a, b) => a.family - b.family)
    .map(({ address }) => address);
}
