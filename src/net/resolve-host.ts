// Names to addresses. Asked of the name servers without the thread pool, so that slow ones hold up
// nobody else. What they do not know is asked of the system, which occupies one of few threads
// until it answers: one at a time, and not for long.
import type { LookupAddress } from "node:dns";
import { lookup, Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import type { Clock } from "../runtime/clock.ts";
import { untilAborted } from "../agent/http/deadline.ts";
import { createHostsFile } from "./hosts-file.ts";
import { createSemaphore } from "../runtime/semaphore.ts";
import { dnsFailure } from "../agent/http/failure.ts";
import type { CallFailure } from "../agent/http/failure.ts";

export interface HostResolver {
  /** IPv4 addresses first. Rejects with a `CallFailure`. */
  resolve(host: string): Promise<string[]>;
}

export interface ResolverSettings {
  readonly clock: Clock;
  /** `address:port` of the name servers; default: the system's. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
  /**
   * Asked for a name that DNS does not know; default: the system, where the name servers are the
   * system's.
   */
  readonly system?: SystemLookup;
}

type SystemLookup = (name: string) => Promise<readonly LookupAddress[]>;

const QUERY_TIMEOUT_MS = 3000;
const QUERY_TRIES = 3;
// How long IPv4 waits for IPv6: the resolution delay of RFC 8305 section 3.
const WAIT_FOR_IPV6_MS = 50;
// The other way round, because IPv4 is called first, and may be all that this machine has.
const WAIT_FOR_IPV4_MS = 2000;
const WAIT_FOR_SYSTEM_MS = 2000;

export function createHostResolver({
  clock,
  servers,
  hostsFile = "/etc/hosts",
  system = servers ? async () => [] : askSystem,
}: ResolverSettings): HostResolver {
  const hosts = createHostsFile(hostsFile, clock);
  const ask = inTurns(system);

  const find = async (name: string): Promise<string[]> => {
    const known = (await hosts.find(name)) ?? specialName(name);
    if (known) return known;
    const resolver = newResolver(servers);
    try {
      return await queryBoth(resolver, name);
    } catch (cause) {
      return await throughSystem(ask, name, dnsFailure(cause, name));
    } finally {
      resolver.cancel(); // the query of the other family, with its socket
    }
  };

  return {
    async resolve(host) {
      const found = await find(host.toLowerCase().replace(/\.$/, ""));
      return found.toSorted((a, b) => isIP(a) - isIP(b));
    },
  };
}

/**
 * One for each lookup. It reads the system's name servers, which may change; and one that was
 * answered quickly a few times waits for later answers only a fraction of its timeout, and passes
 * over the one that comes then.
 */
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
  if (name === "localhost" || name.endsWith(".localhost")) return ["127.0.0.1", "::1"];
  if (name === "invalid" || name.endsWith(".invalid")) throw dnsFailure(noAddress(), name);
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
  return [
    ...(await within(AbortSignal.timeout(WAIT_FOR_IPV4_MS), four)),
    ...(await within(AbortSignal.timeout(WAIT_FOR_IPV6_MS), six)),
  ];
}

/** None where there is no answer in time. */
const within = <Found>(
  limit: AbortSignal,
  answer: Promise<readonly Found[]>,
): Promise<readonly Found[]> => untilAborted(answer, limit, noAddress).catch(() => []);

const noAddress = (): Error => Object.assign(new Error("no address"), { code: "ENOTFOUND" });

/** An alias that leads nowhere is answered without an address. */
function atLeastOne(addresses: string[]): string[] {
  if (addresses.length === 0) throw noAddress();
  return addresses;
}

/** That one family has no address says less than that the question for the other one failed. */
const tellingCause = ({ errors }: AggregateError): unknown =>
  errors.find((cause) => dnsFailure(cause, "").code !== "dns_not_found") ?? errors[0];

const askSystem: SystemLookup = (name) => lookup(name, { all: true });

type SystemLookupInTime = (name: string, limit: AbortSignal) => ReturnType<SystemLookup>;

/** One at a time: Node has two threads for lookups by default, and the other one is for the bus. */
function inTurns(system: SystemLookup): SystemLookupInTime {
  const turns = createSemaphore(1);
  return (name, limit) => turns.run(limit, () => system(name));
}

/** What DNS does not know may be a name of the local network: a search list, multicast DNS. */
async function throughSystem(
  ask: SystemLookupInTime,
  name: string,
  failure: CallFailure,
): Promise<string[]> {
  if (failure.code !== "dns_not_found") throw failure;
  const limit = AbortSignal.timeout(WAIT_FOR_SYSTEM_MS);
  const found = await within(limit, ask(name, limit));
  if (found.length === 0) throw failure;
  return found.map(({ address }) => address);
}
