// Opens a fresh connection: lookup, egress check, TCP, TLS; all but the check are timed. Only
// checked addresses are dialled.
import { connect as connectTcp, isIP } from "node:net";
import type { Socket } from "node:net";
import type { SecureContext } from "node:tls";
import { createMask, MASK } from "../../model/mask.ts";
import type { EgressRules } from "../../net/egress.ts";
import type { HostResolver } from "../../net/resolve-host.ts";
import type { Clock } from "../../runtime/clock.ts";
import { startTimer } from "../../runtime/deadline.ts";
import type { Deadline } from "../../runtime/deadline.ts";
import { CallFailure, connectFailure, dnsFailure } from "./failure.ts";
import type { FailureCode } from "./failure.ts";
import type { HttpRequest } from "./http-request.ts";
import { secure } from "./secure.ts";
import type { Trace } from "./trace.ts";

/** A refused target, reported to the agent's operator. */
export interface Refusal {
  readonly host: string;
  readonly port: number;
  readonly addresses: readonly string[];
}

export interface Network {
  readonly clock: Clock;
  readonly egress: EgressRules;
  readonly resolver: HostResolver;
  readonly onRefusal?: ((refusal: Refusal) => void) | undefined;
  /** Shared by all calls: creating one costs more than the rest of the handshake's setup. */
  readonly secureContext: SecureContext;
  /** A context that presents a client certificate. Throws if its PEM cannot be read. */
  readonly certifiedContext: (certificate: {
    readonly cert: string;
    readonly key: string;
  }) => SecureContext;
}

// A name may have hundreds of addresses.
const MAX_ADDRESSES = 6;
// For every address but the last: time for the SYN and one retransmission (RFC 6298 section 2).
const ATTEMPT_MS = 2000;

export interface Attempt {
  readonly insecureTls: boolean;
  /** Ends the attempt, as a timeout of the current phase. */
  readonly deadline: Deadline;
  /** Milliseconds until the call's deadline. */
  readonly left: () => number;
}

/** Rejects with a `CallFailure`. The caller destroys the socket. */
export async function connect(network: Network, trace: Trace, attempt: Attempt): Promise<Socket> {
  const { insecureTls, deadline } = attempt;
  const { url } = trace.request;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  if (port === 0) throw new CallFailure("request_invalid", "port 0 cannot be called");
  const addresses = await lookUp(network, trace, host, deadline);
  const permitted = addresses.filter((one) => network.egress.allows(one, port));
  if (permitted.length === 0) throw refusal(network, trace, { host, port, addresses });
  const secureContext = contextOf(network, trace.request);
  const started = network.clock.monotonic();
  const socket = await dial(permitted.slice(0, MAX_ADDRESSES), port, attempt);
  trace.phases.tcp = network.clock.monotonic() - started;
  trace.sourceIp = socket.localAddress ?? null;
  trace.destIp = socket.remoteAddress ?? null;
  if (url.protocol !== "https:") return socket;
  return await secure(network.clock, trace, {
    socket,
    host,
    secureContext,
    insecureTls,
    deadline,
  });
}

/**
 * A name with only refused addresses fails like one without addresses, in message and timing:
 * users must not learn which names the agent's network knows.
 */
function refusal({ onRefusal }: Network, trace: Trace, refused: Refusal): CallFailure {
  onRefusal?.(shown(refused, trace.request));
  if (!saysItsAddress(refused.host)) {
    trace.phases.dns = null;
    return notFound(refused.host);
  }
  return new CallFailure(
    "egress_refused",
    "the address of this host is neither public nor allowed at this location",
  );
}

/** Shows as much of the host as the result's URL shows. */
function shown({ host, port, addresses }: Refusal, { url, secrets = [] }: HttpRequest): Refusal {
  const mask = createMask(secrets);
  if (mask(url.href).includes(host)) return { host, port, addresses };
  const masked = mask(host);
  return {
    host: masked === host ? MASK : masked,
    port,
    addresses: addresses.map((each) => (each === host ? MASK : each)),
  };
}

const notFound = (host: string, cause?: unknown): CallFailure =>
  new CallFailure("dns_not_found", `${host} has no address that may be called from here`, {
    cause,
  });

/** RFC 6761 section 6.3: `localhost` is loopback everywhere. */
const saysItsAddress = (host: string): boolean =>
  isIP(host) !== 0 || /(?:^|\.)localhost\.?$/.test(host);

async function lookUp(
  { clock, resolver }: Network,
  trace: Trace,
  host: string,
  deadline: Deadline,
): Promise<string[]> {
  if (isIP(host) !== 0) return [host];
  const started = clock.monotonic();
  const cancel = new AbortController();
  const onHeld = (ms: number): void => void (trace.held += ms);
  const addresses = await new Promise<string[]>((resolve, reject) => {
    deadline.watch(() => {
      reject(new CallFailure("dns_timeout", `${host} was not looked up in time`));
      cancel.abort();
    });
    resolver.resolve(host, { cancel: cancel.signal, onHeld }).then(resolve, (cause: unknown) => {
      const failure = dnsFailure(cause);
      reject(failure.code === "dns_not_found" ? notFound(host, cause) : failure);
    });
  });
  trace.phases.dns = clock.monotonic() - started;
  return addresses;
}

/** Tries one address after another until one connects; each gets its share of the time left. */
async function dial(
  addresses: readonly string[],
  port: number,
  { deadline, left }: Attempt,
): Promise<Socket> {
  const failures: CallFailure[] = [];
  for (const [at, address] of addresses.entries()) {
    const untried = addresses.length - at;
    const limit = untried === 1 ? null : Math.min(ATTEMPT_MS, left() / untried);
    try {
      return await dialOne(address, port, limit, deadline);
    } catch (cause) {
      failures.push(cause as CallFailure);
      if (deadline.isOver()) break;
    }
  }
  throw combined(failures);
}

// These say least about the target: the machine may, for example, lack the address family.
const LEAST_SPECIFIC: readonly FailureCode[] = ["agent_error", "connect_unreachable"];

/** The last failure that says something about the target represents them all. */
function combined(failures: readonly CallFailure[]): CallFailure {
  const chosen =
    failures.findLast(({ code }) => !LEAST_SPECIFIC.includes(code)) ??
    failures.findLast(({ code }) => code === "agent_error") ??
    failures.at(-1) ??
    new CallFailure("dns_not_found", "the host has no address");
  const others = failures.filter((failure) => failure !== chosen).map(({ message }) => message);
  if (others.length === 0) return chosen;
  const text = chosen.message.slice(chosen.code.length + 2);
  return new CallFailure(chosen.code, `${text}; the other addresses: ${others.join("; ")}`, {
    cause: chosen,
  });
}

function dialOne(
  address: string,
  port: number,
  limitMs: number | null,
  deadline: Deadline,
): Promise<Socket> {
  const target = isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
  return new Promise((resolve, reject) => {
    const socket = connectTcp({ host: address, port, noDelay: true });
    let settled = false;
    const settle = (): void => {
      settled = true;
      stopTimer?.();
      deadline.watch(undefined);
    };
    const fail = (failure: CallFailure): void => {
      settle();
      socket.destroy();
      reject(failure);
    };
    const expire = (): void => fail(new CallFailure("connect_timeout", `${target} did not answer`));
    const stopTimer = limitMs === null ? undefined : startTimer(limitMs, expire);
    if (deadline.isOver()) return expire();
    deadline.watch(expire);
    // Stays for the life of the socket: a late error must not end the process.
    socket.on("error", (cause) => {
      if (!settled) fail(connectFailure(cause, target));
    });
    socket.once("connect", () => {
      if (isSelfConnection(socket))
        return fail(new CallFailure("connect_refused", `nothing listens on ${target}`));
      settle();
      resolve(socket);
    });
  });
}

/**
 * TCP connects a socket to itself (simultaneous open, RFC 9293 section 3.5) if its own port happens
 * to be the one that it dials.
 */
export const isSelfConnection = ({
  localAddress,
  localPort,
  remoteAddress,
  remotePort,
}: Socket): boolean => localPort === remotePort && localAddress === remoteAddress;

function contextOf(
  { secureContext, certifiedContext }: Network,
  { clientCertificate }: HttpRequest,
): SecureContext {
  if (!clientCertificate) return secureContext;
  try {
    return certifiedContext(clientCertificate);
  } catch (cause) {
    throw new CallFailure(
      "request_invalid",
      "the client certificate or its key cannot be read, or they do not match",
      { cause },
    );
  }
}
