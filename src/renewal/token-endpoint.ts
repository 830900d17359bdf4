// Makes one request to a token endpoint, over a fresh connection to an address that the egress
// rules allow, with limits on time and size.
import type { LookupOptions } from "node:dns";
import { isIP } from "node:net";
import type { LookupFunction } from "node:net";
import { callbackify } from "node:util";
import { gunzipSync } from "node:zlib";
import { isObject } from "../model/json.ts";
import { createMask } from "../model/mask.ts";
import type { EgressRules } from "../net/egress.ts";
import { hostPortOf } from "../net/host-port.ts";
import { limitReading } from "../net/limit-reading.ts";
import type { HostResolver } from "../net/resolve-host.ts";
import { watchStart } from "../net/response-start.ts";
import { codeOf } from "../runtime/error-code.ts";
import type { TokenRequest } from "./token-request.ts";

export interface TokenNetwork {
  readonly egress: EgressRules;
  readonly resolver: HostResolver;
  /** Sonde's version. */
  readonly version: string;
  /** Time for the lookup, the request and its answer; default 10 s. */
  readonly timeoutMs?: number;
}

export type TokenAnswer =
  | { readonly answer: Readonly<Record<string, unknown>> }
  /** A sentence without a secret. */
  | { readonly reason: string };

const TIMEOUT_MS = 10_000;
// For every address but the last: time for the SYN and one retransmission (RFC 6298 section 2).
// Node's default is a quarter of a second.
const ATTEMPT_MS = 1500;
const MAX_ANSWER_BYTES = 256 * 1024;
/** Includes the head and the framing. */
const MAX_READ_BYTES = 4 * MAX_ANSWER_BYTES;

export async function askForToken(
  { method, url, headers, body, clientCertificate, secrets }: TokenRequest,
  network: TokenNetwork,
): Promise<TokenAnswer> {
  const { egress, version, timeoutMs = TIMEOUT_MS } = network;
  const { host, port } = hostPortOf(url);
  if (isIP(host) !== 0 && !egress.allows(host, port)) return REFUSED;
  // Loaded here: most processes never ask.
  const { Agent, buildConnector, errors, request } = await import("undici");
  const deadline = AbortSignal.timeout(timeoutMs);
  const open = buildConnector({
    // Makes Node ask the lookup for all addresses.
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
    lookup: permittedLookup(network, port),
    // Ends a pending lookup or connection, which `destroy` waits for.
    signal: deadline,
    ...clientCertificate,
  });
  const connect: typeof open = (options, callback) =>
    open(options, (...opened) => {
      const [, socket] = opened;
      const onExcess = (): void => void socket?.destroy(tooLarge());
      if (socket) limitReading(socket, MAX_READ_BYTES, onExcess);
      if (socket) watchStart(socket, { onExcess });
      callback(...opened);
    });
  const dispatcher = new Agent({ connect, maxResponseSize: MAX_ANSWER_BYTES });
  try {
    const answered = await request(url, {
      dispatcher,
      method,
      // Some endpoints refuse requests without one.
      headers: { "user-agent": `Sonde/${version}`, ...headers },
      body,
      signal: deadline,
    });
    const isGzip = /^(?:x-)?gzip$/i.test(String(answered.headers["content-encoding"]));
    const content = await answered.body.bytes();
    return read(answered.statusCode, parsed(content, isGzip), secrets);
  } catch (cause) {
    if (deadline.aborted)
      return {
        reason: `the token endpoint did not answer within ${timeoutMs / 1000} s`,
      };
    if (cause instanceof EgressRefusal) return { reason: NO_ADDRESS };
    if (cause instanceof errors.HTTPParserError) return { reason: NO_HTTP };
    const code = codeOf(cause) || "unknown error";
    return { reason: REASONS[code] ?? `the token endpoint cannot be reached (${code})` };
  } finally {
    await dispatcher.destroy();
  }
}

const REFUSED = {
  reason: "the address of the token endpoint is neither public nor in SONDE_EGRESS_ALLOW",
};

const tooLarge = (): Error =>
  Object.assign(new Error("the answer is too large"), { code: "UND_ERR_RES_EXCEEDED_MAX_SIZE" });

const NO_ADDRESS =
  "the name of the token endpoint has no address, or none that SONDE_EGRESS_ALLOW allows";
const NO_HTTP = "the token endpoint answered with something other than HTTP/1.1";
const CUT_OFF = "the token endpoint closed the connection before its answer was complete";
const TOO_LARGE = "the token endpoint sent more than Sonde reads";

/** By the codes of the resolver, of Node and of undici. */
const REASONS: Readonly<Record<string, string>> = {
  dns_not_found: NO_ADDRESS,
  ECONNRESET: CUT_OFF,
  UND_ERR_SOCKET: CUT_OFF,
  UND_ERR_HEADERS_OVERFLOW: TOO_LARGE,
  UND_ERR_RES_EXCEEDED_MAX_SIZE: TOO_LARGE,
  // A fault in a head with a length.
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: NO_HTTP,
};

class EgressRefusal extends Error {}

/** Returns checked addresses only, so no other is dialled. */
const permittedLookup = ({ resolver, egress }: TokenNetwork, port: number): LookupFunction =>
  callbackify(async (host: string, _options: LookupOptions) => {
    const addresses = await resolver.resolve(host);
    const permitted = addresses.filter((address) => egress.allows(address, port));
    if (permitted.length === 0) throw new EgressRefusal();
    return permitted.map((address) => ({ address, family: isIP(address) }));
  });

function read(
  status: number,
  answer: Record<string, unknown> | undefined,
  secrets: readonly string[],
): TokenAnswer {
  const isSuccess = status >= 200 && status <= 299;
  if (isSuccess && !answer)
    return { reason: "the token endpoint answered with something other than JSON" };
  // RFC 6749 section 5.2: a code, never free text. Some endpoints send it with 200. An endpoint may
  // quote what it was sent.
  const error = answer?.["error"];
  const code =
    typeof error === "string" && /^[\w.:/-]{1,60}$/.test(error)
      ? ` (${createMask(secrets)(error)})`
      : "";
  if (isSuccess && answer && (code === "" || answer["access_token"])) return { answer };
  return { reason: `the token endpoint answered ${status}${code}` };
}

/** Some endpoints compress unasked, as RFC 9110 section 12.5.3 lets them. */
function parsed(content: Uint8Array, isGzip: boolean): Record<string, unknown> | undefined {
  try {
    const plain = isGzip ? gunzipSync(content, { maxOutputLength: MAX_ANSWER_BYTES }) : content;
    const value: unknown = JSON.parse(new TextDecoder().decode(plain));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
