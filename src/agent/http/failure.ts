// Explains failed calls: turns errors of Node's network modules and of undici into a code and a
// sentence for the user.
import { errors } from "undici";
import type { ResultCode } from "../../model/result.ts";
import { LookupFailure } from "../../net/resolve-host.ts";
import { codeOf } from "../../runtime/error-code.ts";

export type FailureCode =
  | "dns_not_found"
  | "dns_timeout"
  | "dns_failure"
  | "connect_refused"
  | "connect_timeout"
  | "connect_unreachable"
  | "tls_expired"
  | "tls_not_yet_valid"
  | "tls_name_mismatch"
  | "tls_self_signed"
  | "tls_untrusted"
  | "tls_client_certificate"
  | "tls_protocol"
  | "reset"
  | "timeout"
  | "malformed_response"
  | "too_large"
  | "redirect_not_followed"
  | "too_many_redirects"
  | "redirect_invalid"
  | "egress_refused"
  | "request_invalid"
  | "uplink_down"
  | "agent_error";

const RESULTS: Partial<Record<FailureCode, ResultCode>> = {
  redirect_not_followed: "HTTP_REDIRECT_ERROR",
  too_many_redirects: "HTTP_REDIRECT_ERROR",
  redirect_invalid: "HTTP_REDIRECT_ERROR",
  egress_refused: "UNABLE_TO_RUN",
  request_invalid: "UNABLE_TO_RUN",
  uplink_down: "AGENT_ERROR",
  agent_error: "AGENT_ERROR",
};

/** Ends a call. The message is for the user: it begins with the code, and has no secrets. */
export class CallFailure extends Error {
  readonly code: FailureCode;

  constructor(code: FailureCode, text: string, options?: ErrorOptions) {
    super(`${code}: ${text}`, options);
    this.name = "CallFailure";
    this.code = code;
  }

  get result(): ResultCode {
    return RESULTS[this.code] ?? "CONNECTION_ERROR";
  }
}

// A shortage on this machine says nothing about the target.
const SHORTAGES: Record<string, string> = {
  EMFILE: "the agent has no file descriptors left",
  ENFILE: "the agent's machine has no file descriptors left",
  ENOMEM: "the agent has no memory left",
  ENOBUFS: "the agent has no network buffers left",
  EADDRNOTAVAIL: "the agent has no local address or port left to call from",
  EPERM: "the agent's machine does not permit the connection",
  EACCES: "the agent's machine does not permit the connection",
};

function shortage(cause: unknown): CallFailure | undefined {
  const text = SHORTAGES[codeOf(cause)];
  return text ? new CallFailure("agent_error", text, { cause }) : undefined;
}

export function dnsFailure(cause: unknown): CallFailure {
  if (!(cause instanceof LookupFailure)) return new AgentFailure(cause);
  const text = cause.message.slice(cause.code.length + 2);
  const code = cause.code === "dns_busy" ? "agent_error" : cause.code;
  return shortage(cause.cause) ?? new CallFailure(code, text, { cause });
}

export function connectFailure(cause: unknown, target: string): CallFailure {
  const code = codeOf(cause);
  if (code === "ECONNRESET")
    return new CallFailure("reset", `${target} reset the connection`, {
      cause,
    });
  if (code === "ECONNREFUSED")
    return new CallFailure("connect_refused", `${target} refused the connection`, { cause });
  if (code === "ETIMEDOUT")
    return new CallFailure("connect_timeout", `${target} did not answer`, {
      cause,
    });
  // On Linux, EADDRNOTAVAIL means that the machine has no IPv6 address or, for an IPv4 target, that
  // its ports are used up.
  const noFamily = code === "EADDRNOTAVAIL" && target.startsWith("[");
  return (
    (noFamily ? undefined : shortage(cause)) ??
    new CallFailure(
      "connect_unreachable",
      `${target} cannot be reached (${code || "unknown error"})`,
      { cause },
    )
  );
}

/** Begins Node's code for a certificate's dates if these are not the server's own certificate's. */
export const OF_AUTHORITY = "AUTHORITY_";

const NO_ISSUER =
  "no trusted authority issued the certificate, or the server lacks an intermediate certificate";
const NO_VERSION = "the server speaks neither TLS 1.2 nor TLS 1.3";

const TLS_CODES: Record<string, readonly [FailureCode, string]> = {
  CERT_HAS_EXPIRED: ["tls_expired", "the certificate has expired"],
  CERT_NOT_YET_VALID: ["tls_not_yet_valid", "the certificate is not valid yet"],
  ERR_TLS_CERT_ALTNAME_INVALID: ["tls_name_mismatch", "the certificate is for another host"],
  [OF_AUTHORITY + "CERT_HAS_EXPIRED"]: [
    "tls_untrusted",
    "the certificate of an authority in the chain has expired",
  ],
  [OF_AUTHORITY + "CERT_NOT_YET_VALID"]: [
    "tls_untrusted",
    "the certificate of an authority in the chain is not valid yet",
  ],
  DEPTH_ZERO_SELF_SIGNED_CERT: ["tls_self_signed", "the certificate is self-signed"],
  SELF_SIGNED_CERT_IN_CHAIN: [
    "tls_untrusted",
    "the certificate chain ends in an authority that is not trusted",
  ],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ["tls_untrusted", NO_ISSUER],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ["tls_untrusted", NO_ISSUER],
  // Node's code for anything it has no name for.
  UNSPECIFIED: [
    "tls_untrusted",
    "the certificate cannot be verified: its key or a signature may be too weak",
  ],
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: [
    "tls_client_certificate",
    "the server requires a client certificate",
  ],
  ERR_SSL_WRONG_VERSION_NUMBER: [
    "tls_protocol",
    "the server's answer is not TLS, but perhaps http",
  ],
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: ["tls_protocol", NO_VERSION],
  ERR_SSL_UNSUPPORTED_PROTOCOL: ["tls_protocol", NO_VERSION],
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: [
    "tls_protocol",
    "the server refuses HTTP/1.1; it may require HTTP/2",
  ],
  "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE": [
    "tls_protocol",
    "the server accepts none of the ciphers offered, or requires a client certificate",
  ],
};

const TLS_KINDS: readonly (readonly [RegExp, FailureCode, string])[] = [
  // Alerts about the client's certificate (RFC 8446 section 6.2), by OpenSSL's names.
  [
    /_ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_(EXPIRED|REVOKED|UNKNOWN)|ACCESS_DENIED)$/,
    "tls_client_certificate",
    "the server rejects the client certificate, or requires one",
  ],
  // The names of X509_verify_cert_error_string, as Node passes them on.
  [
    /^(UNABLE_TO_|CERT_|CRL_|INVALID_CA|PATH_LENGTH_EXCEEDED|INVALID_PURPOSE|HOSTNAME_MISMATCH|ERROR_IN_CERT)/,
    "tls_untrusted",
    "the certificate cannot be verified",
  ],
  [/^(ERR_SSL_|EPROTO$)/, "tls_protocol", "the TLS connection failed"],
];

/** Returns undefined unless it is a TLS error. */
function tlsCause(cause: unknown): CallFailure | undefined {
  const code = codeOf(cause);
  const [failure, text] = TLS_CODES[code] ?? [];
  if (failure && text) return new CallFailure(failure, text, { cause });
  const [, kind, what] = TLS_KINDS.find(([names]) => names.test(code)) ?? [];
  return kind && new CallFailure(kind, `${what} (${code})`, { cause });
}

export const handshakeFailure = (cause: unknown): CallFailure =>
  tlsCause(cause) ??
  shortage(cause) ??
  new CallFailure("reset", "the connection was closed during the TLS handshake", { cause });

/** For errors on an open connection. `answered`: the head of a response has arrived. */
export function exchangeFailure(cause: unknown, answered: boolean): CallFailure {
  return (
    responseFault(cause, answered) ??
    tlsCause(cause) ??
    shortage(cause) ??
    new CallFailure(
      "reset",
      answered
        ? "the connection was closed before the response was complete"
        : "the connection was closed before a response arrived",
      { cause },
    )
  );
}

/** Returns undefined if the response is at worst incomplete. */
function responseFault(cause: unknown, answered: boolean): CallFailure | undefined {
  if (codeOf(cause) === "UND_ERR_HEADERS_OVERFLOW")
    return new CallFailure("too_large", "the headers of the response exceed the agent's limit", {
      cause,
    });
  const text = malformation(cause, answered);
  return text === undefined ? undefined : new CallFailure("malformed_response", text, { cause });
}

// undici has no codes for these.
const SOCKET_FAULTS: Record<string, string> = {
  "bad response": "the server sent 100 Continue where no response can begin",
  "bad upgrade": "the server switched to another protocol without being asked",
};

function malformation(cause: unknown, answered: boolean): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  if (cause instanceof errors.HTTPParserError) {
    const reason = /\((.*)\)$/.exec(cause.message)?.[1] ?? "unknown fault";
    return reason === "Invalid EOF state"
      ? undefined
      : `the response is not HTTP/1.1 (${reason.toLowerCase()})`;
  }
  const code = codeOf(cause);
  // undici's code for an early end, and for any fault in a head with a length.
  if (code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH" && !answered)
    return "the response is not HTTP/1.1 (its head has a length and a fault: Transfer-Encoding, another length, one that is too large, or a malformed header)";
  return code === "UND_ERR_SOCKET" ? SOCKET_FAULTS[cause.message] : undefined;
}

/** A fault of the agent's own. Its cause belongs in the agent's log. */
export class AgentFailure extends CallFailure {
  constructor(cause: unknown) {
    super("agent_error", "the agent failed during this call; see its log", { cause });
  }
}
