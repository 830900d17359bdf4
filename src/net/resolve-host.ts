// Resolves host names: by the hosts file, then DNS, then the system. DNS queries bypass the thread
// pool, so slow name servers delay only their own lookups; a system lookup occupies one of few
// threads, so only one runs at a time, with a short limit.
import type { LookupAddress } from "node:dns";
import { lookup, Resolver } from "node:dns/promises";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import type { Clock } from "../runtime/clock.ts";
import { untilAborted } from "../runtime/deadline.ts";
import { codeOf } from "../runtime/error-code.ts";
import { createSemaphore } from "../runtime/semaphore.ts";

export type HostResolver = ReturnType<typeof createHostResolver>;

export interface LookupSettings {
  /** Cancels the DNS queries, which could otherwise outlive the caller by 20 s. */
  readonly cancel?: AbortSignal;
  /** Called with the milliseconds that this lookup waited for others. */
  readonly onHeld?: (ms: number) => void;
}

/** `dns_busy`: other lookups took all the time. */
export type LookupFailureCode = "dns_not_found" | "dns_timeout" | "dns_failure" | "dns_busy";

/** The message begins with the code and is shown to the user; `cause` is Node's error. */
export class LookupFailure extends Error {
  readonly code: LookupFailureCode;

  constructor(code: LookupFailureCode, text: string, options?: ErrorOptions) {
    super(`${code}: ${text}`, options);
    this.name = "LookupFailure";
    this.code = code;
  }
}

export interface ResolverSettings {
  readonly clock: Clock;
  /** `address:port` of each name server; default: the system's. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
  /** Looks up a name that DNS does not know; default: the system, unless `servers` is given. */
  readonly system?: SystemLookup;
}

type SystemLookup = (name: string) => Promise<readonly LookupAddress[]>;

const QUERY_TIMEOUT_MS = 3000;
const QUERY_TRIES = 3;
// How long an IPv4 answer waits for IPv6: the resolution delay of RFC 8305 section 3.
const WAIT_FOR_IPV6_MS = 50;
// An IPv6 answer waits longer for IPv4, which is dialled first and may be all that this machine
// has.
const WAIT_FOR_IPV4_MS = 2000;
/** Less than `WAIT_FOR_IPV4_MS`: c-ares repeats a lost query only after `QUERY_TIMEOUT_MS`. */
const ASK_AGAIN_AFTER_MS = 1000;
const WAIT_FOR_SYSTEM_MS = 2000;
const HOSTS_FILE_TTL_MS = 10_000;

export function createHostResolver({
  clock,
  servers,
  hostsFile = "/etc/hosts",
  system = servers ? async () => [] : askSystem,
}: ResolverSettings) {
  const findInHostsFile = hostsFileReader(hostsFile, clock);
  const throughSystem = createSystemLookup(system, clock);

  const find = async (
    name: string,
    { cancel, onHeld = () => undefined }: LookupSettings,
  ): Promise<readonly string[]> => {
    const known = (await findInHostsFile(name)) ?? specialName(name);
    if (known) return known;
    const resolver = newResolver(servers);
    cancel?.addEventListener("abort", () => resolver.cancel(), { once: true });
    try {
      return await queryBoth(resolver, name);
    } catch (cause) {
      const failure = lookupFailure(cause, name);
      if (failure.code !== "dns_not_found") throw failure;
      return await throughSystem(name, failure, onHeld);
    } finally {
      resolver.cancel(); // ends the other family's query, and its socket
    }
  };

  return {
    /** Resolves with at least one address, IPv4 first. Rejects with a `LookupFailure`. */
    async resolve(host: string, settings: LookupSettings = {}): Promise<string[]> {
      const found = await find(host.toLowerCase().replace(/\.$/, ""), settings);
      return found.toSorted((a, b) => isIP(a) - isIP(b));
    },
  };
}

/** Finds the addresses of a lower-case name in the hosts file, which it rereads after 10 s. */
function hostsFileReader(
  path: string,
  clock: Clock,
): (name: string) => Promise<readonly string[] | undefined> {
  let content: Promise<Map<string, string[]>> | undefined;
  let readAt = 0;
  return async (name) => {
    const now = clock.monotonic();
    if (!content || now - readAt > HOSTS_FILE_TTL_MS) {
      readAt = now;
      content = readFile(path, "utf8").then(parseHosts, () => new Map());
    }
    return (await content).get(name);
  };
}

function parseHosts(text: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [address, ...names] = line.replace(/#.*/s, "").trim().split(/\s+/);
    if (!address || isIP(address) === 0) continue;
    for (const name of names.map((one) => one.toLowerCase()))
      found.set(name, [...(found.get(name) ?? []), address]);
  }
  return found;
}

/**
 * Creates a resolver for one lookup: the system's list of name servers may change, and a resolver
 * cuts its timeout to a fraction after a few quick answers.
 */
function newResolver(servers: readonly string[] | undefined): Resolver {
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
  if (servers) resolver.setServers(servers);
  return resolver;
}

/** RFC 6761 sections 6.3 and 6.4: names that never go to a name server. */
function specialName(name: string): string[] | undefined {
  if (name === "localhost" || name.endsWith(".localhost")) return ["127.0.0.1", "::1"];
  if (name === "invalid" || name.endsWith(".invalid")) throw lookupFailure(noAddress(), name);
  return undefined;
}

async function queryBoth(resolver: Resolver, name: string): Promise<string[]> {
  const askFour = (): Promise<string[]> => resolver.resolve4(name).then(atLeastOne);
  const four = askFour();
  const six = resolver.resolve6(name).then(atLeastOne);
  try {
    await Promise.any([four, six]);
  } catch (cause) {
    throw moreSpecific(cause as AggregateError);
  }
  return [
    ...(await within(AbortSignal.timeout(WAIT_FOR_IPV4_MS), orAgain(four, askFour))),
    ...(await within(AbortSignal.timeout(WAIT_FOR_IPV6_MS), six)),
  ];
}

/** Settles with the first answer; asks again if it is late, since one may be lost. */
const orAgain = <Found>(first: Promise<Found>, ask: () => Promise<Found>): Promise<Found> =>
  new Promise((resolve, reject) => {
    const late = setTimeout(() => void ask().then(resolve, reject), ASK_AGAIN_AFTER_MS);
    void first.then(resolve, reject).finally(() => clearTimeout(late));
  });

/** Resolves with an empty list if there is no answer in time. */
const within = <Found>(
  limit: AbortSignal,
  answer: Promise<readonly Found[]>,
): Promise<readonly Found[]> => untilAborted(answer, limit, noAddress).catch(() => []);

const noAddress = (): Error => Object.assign(new Error("no address"), { code: "ENOTFOUND" });

/** Throws for the answer to a dangling alias: it has no address. */
function atLeastOne(addresses: string[]): string[] {
  if (addresses.length === 0) throw noAddress();
  return addresses;
}

/** A failed query for one family says more than the other family's lack of addresses. */
const moreSpecific = ({ errors }: AggregateError): unknown =>
  errors.find((cause) => lookupFailure(cause, "").code !== "dns_not_found") ?? errors[0];

function lookupFailure(cause: unknown, host: string): LookupFailure {
  const code = codeOf(cause) || "unknown error";
  if (["ENOTFOUND", "ENODATA", "EBADNAME"].includes(code))
    return new LookupFailure("dns_not_found", `${host} has no address`, { cause });
  if (["ETIMEOUT", "EAI_AGAIN", "ECANCELLED"].includes(code))
    return new LookupFailure("dns_timeout", `the name server did not answer for ${host}`, {
      cause,
    });
  return new LookupFailure("dns_failure", `${host} could not be looked up (${code})`, {
    cause: code === "ECONNREFUSED" ? (shortageNow() ?? cause) : cause,
  });
}

/** c-ares reports a socket that it cannot open as a refused connection. */
function shortageNow(): unknown {
  try {
    closeSync(openSync("/dev/null", "r"));
    return undefined;
  } catch (cause) {
    return cause;
  }
}

const askSystem: SystemLookup = (name) => lookup(name, { all: true });

/**
 * Returns a function that asks the system: a name that DNS does not know may be local, from a
 * search list or multicast DNS. It throws `failure` if the system does not know the name either.
 */
function createSystemLookup(system: SystemLookup, clock: Clock) {
  // By default, Node has two threads for lookups, and the bus needs the other one.
  const turns = createSemaphore(1);
  return async (
    name: string,
    failure: LookupFailure,
    onHeld: (ms: number) => void,
  ): Promise<string[]> => {
    const limit = AbortSignal.timeout(WAIT_FOR_SYSTEM_MS);
    const asked = clock.monotonic();
    let heldMs: number | undefined;
    const inTurn = (): ReturnType<SystemLookup> => {
      heldMs = clock.monotonic() - asked;
      return system(name);
    };
    const found = await within(limit, turns.run(limit, inTurn));
    onHeld(heldMs ?? WAIT_FOR_SYSTEM_MS);
    if (heldMs === undefined)
      throw new LookupFailure(
        "dns_busy",
        `other lookups left no time to ask the system for ${name}`,
      );
    if (found.length === 0) throw failure;
    return found.map(({ address }) => address);
  };
}
