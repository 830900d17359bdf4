// Opens a fresh connection: lookup, egress check, TCP, TLS; all but the check are timed. Only
// checked addresses are dialled.
import { isIP } from "node:net";
import type { Socket } from "node:net";
import { createSecureContext } from "node:tls";
import type { SecureContext } from "node:tls";
import { createMask, MASK } from "../../model/mask.ts";
import type { EgressRules } from "../../net/egress.ts";
import { hostPortOf } from "../../net/host-port.ts";
import type { HostPort } from "../../net/host-port.ts";
import type { HostResolver } from "../../net/resolve-host.ts";
import { isUsable } from "../../runtime/client-certificate.ts";
import type { Deadline } from "../../runtime/deadline.ts";
import type { Logger } from "../../runtime/logger.ts";
import { dial } from "./dial.ts";
import { CallFailure, dnsFailure } from "./failure.ts";
import { credentialsIn } from "./http-request.ts";
import type { HttpRequest } from "./http-request.ts";
import { secure } from "./secure.ts";
import type { Trace } from "./trace.ts";

/** A refused target, logged for the agent's operator. */
interface Refusal extends HostPort {
  readonly addresses: readonly string[];
}

export interface Network {
  readonly egress: EgressRules;
  readonly resolver: HostResolver;
  /** For refused targets. */
  readonly log?: Logger | undefined;
  /** The trusted authorities, in PEM; undefined: those of Node. */
  readonly ca: string | undefined;
  /** Shared by all calls: creating one costs more than the rest of the handshake's setup. */
  readonly secureContext: SecureContext;
}

export interface Attempt {
  readonly insecureTls: boolean;
  /** Ends the attempt, as a timeout of the current phase. */
  readonly deadline: Deadline;
}

/** Rejects with a `CallFailure`. The caller destroys the socket. */
export async function connect(network: Network, trace: Trace, attempt: Attempt): Promise<Socket> {
  const { insecureTls, deadline } = attempt;
  const { url } = trace.request;
  const { host, port } = hostPortOf(url);
  if (port === 0) throw new CallFailure("request_invalid", "port 0 cannot be called");
  const addresses = await lookUp(network, trace, host, deadline);
  const permitted = addresses.filter((one) => network.egress.allows(one, port));
  if (permitted.length === 0) throw refusal(network, trace, { host, port, addresses });
  const secureContext = contextOf(network, trace.request);
  const { clock } = trace;
  const started = clock.monotonic();
  const socket = await dial(permitted, port, { trace, deadline });
  trace.phases.tcp = clock.monotonic() - started;
  trace.sourceIp = socket.localAddress ?? null;
  trace.destIp = socket.remoteAddress ?? null;
  if (url.protocol !== "https:") return socket;
  return await secure(trace, { socket, host, secureContext, insecureTls, deadline });
}

/**
 * A name with only refused addresses fails like one without addresses, in message and timing:
 * users must not learn which names the agent's network knows.
 */
function refusal({ log }: Network, trace: Trace, refused: Refusal): CallFailure {
  log?.warn(shown(refused, trace.request), "target refused by egress rules");
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
function shown({ host, port, addresses }: Refusal, request: HttpRequest): Refusal {
  const mask = createMask([...(request.secrets ?? []), ...credentialsIn(request)]);
  if (mask(request.url.href).includes(host)) return { host, port, addresses };
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
  { resolver }: Network,
  trace: Trace,
  host: string,
  deadline: Deadline,
): Promise<string[]> {
  if (isIP(host) !== 0) return [host];
  const { clock } = trace;
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

function contextOf(
  { ca, secureContext }: Network,
  { clientCertificate }: HttpRequest,
): SecureContext {
  if (!clientCertificate) return secureContext;
  try {
    if (!isUsable(clientCertificate)) throw new Error("the certificate and its key do not match");
    return createSecureContext({ ca, ...clientCertificate });
  } catch (cause) {
    throw new CallFailure(
      "request_invalid",
      "the client certificate or its key cannot be read, or they do not match",
      { cause },
    );
  }
}
