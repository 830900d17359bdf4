// Secures an open connection with TLS: times the handshake, and records the server's certificate.
import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { SecureContext, TLSSocket } from "node:tls";
import { formatInstant } from "../../model/instant.ts";
import type { Certificate } from "../../model/certificate.ts";
import { DAY_MS } from "../../model/periods.ts";
import { systemClock } from "../../runtime/clock.ts";
import type { Deadline } from "../../runtime/deadline.ts";
import { CallFailure, handshakeFailure, OF_AUTHORITY } from "./failure.ts";
import { beginWait } from "./trace.ts";
import type { Trace } from "./trace.ts";

export interface Handshake {
  readonly socket: Socket;
  readonly host: string;
  readonly secureContext: SecureContext;
  readonly insecureTls: boolean;
  readonly deadline: Deadline;
}

/**
 * Rejects with a `CallFailure` before anything is sent to an untrusted server, and destroys the
 * socket.
 */
export async function secure(trace: Trace, handshake: Handshake): Promise<Socket> {
  const { clock } = trace;
  const started = clock.monotonic();
  const { secured, certificate } = await shakeHands(trace, handshake);
  const ended = clock.monotonic();
  try {
    trace.certificate = certificate ? shownCertificate(certificate, clock.now()) : null;
    if (!handshake.insecureTls && !secured.authorized)
      throw handshakeFailure(distrust(secured, isInForce(certificate)));
  } catch (cause) {
    secured.destroy();
    handshake.socket.destroy();
    throw cause;
  }
  trace.phases.handshake = ended - started;
  return secured;
}

interface Secured {
  readonly secured: TLSSocket;
  readonly certificate: X509Certificate | undefined;
}

function shakeHands(
  trace: Trace,
  { socket, host, secureContext, deadline }: Handshake,
): Promise<Secured> {
  return new Promise((resolve, reject) => {
    const secured = connectTls({
      socket,
      host,
      // RFC 6066 section 3: an address is not a server name, and a name has no trailing dot.
      servername: isIP(host) === 0 ? host.replace(/\.$/, "") : "",
      secureContext,
      ALPNProtocols: ["http/1.1"],
      // Checked afterwards: if Node rejected the certificate, it could not be reported.
      rejectUnauthorized: false,
    });
    const endWait = beginWait(trace);
    let certificate: X509Certificate | undefined;
    // Node takes it out of the chain: a second read would return the issuer's.
    const readOnce = () => (certificate ??= secured.getPeerX509Certificate());
    Object.assign(secured, { getPeerCertificate: () => identityIn(readOnce()) });
    const fail = (failure: CallFailure): void => {
      deadline.watch(undefined);
      secured.destroy();
      socket.destroy();
      reject(failure);
    };
    const expire = (): void =>
      fail(new CallFailure("timeout", "the TLS handshake did not complete in time"));
    if (deadline.isOver()) return expire();
    deadline.watch(expire);
    secured.on("error", (cause) => fail(handshakeFailure(cause)));
    secured.once("secureConnect", () => {
      deadline.watch(undefined);
      if (tookOneRoundTrip(secured)) endWait();
      resolve({ secured, certificate: readOnce() });
    });
  });
}

/** The groups of the key shares that OpenSSL offers: for another one, the server has to ask. */
const OFFERED_GROUPS: readonly unknown[] = ["X25519MLKEM768", "X25519"];

/**
 * Whether the server answered once, with all that the client needs: RFC 8446 section 2. In other
 * handshakes it waits for this thread in between, and Node does not say when.
 */
function tookOneRoundTrip(secured: TLSSocket): boolean {
  if (secured.getProtocol() !== "TLSv1.3") return false;
  const group = secured.getEphemeralKeyInfo();
  return group !== null && "name" in group && OFFERED_GROUPS.includes(group.name);
}

/**
 * What Node's host check (`tls.checkServerIdentity`) reads: the alternative names, and the subject
 * if none of them is a DNS name. Node itself would decode the whole chain each time, a quarter of a
 * call's cost.
 */
function identityIn(certificate: X509Certificate | undefined): object {
  const subjectaltname = certificate?.subjectAltName;
  return /(?:^|, )DNS:/.test(subjectaltname ?? "")
    ? { subjectaltname }
    : (certificate?.toLegacyObject() ?? {});
}

/**
 * An error with Node's code, found in a field that is typed as an error. Node does not say whose
 * dates are at fault.
 */
function distrust({ authorizationError }: TLSSocket, inForce: boolean): Error {
  const code = String(authorizationError);
  const ofAuthority = inForce && ["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"].includes(code);
  return Object.assign(new Error("the server's certificate is not trusted"), {
    code: ofAuthority ? OF_AUTHORITY + code : code,
  });
}

/** By the machine's clock, as OpenSSL checks dates. */
function isInForce(certificate: X509Certificate | undefined): boolean {
  const now = systemClock.now();
  return (
    certificate !== undefined &&
    certificate.validFromDate.getTime() <= now &&
    now < certificate.validToDate.getTime()
  );
}

// OpenSSL's text for a malformed time, which Node may turn into an invalid date or a wrong one.
const BAD_TIME = "Bad time value";

/** Returns null if its dates are malformed. */
function shownCertificate(certificate: X509Certificate, now: number): Certificate | null {
  const { validFrom, validTo, validFromDate, validToDate } = certificate;
  const dates = [validFromDate.getTime(), validToDate.getTime()];
  return [validFrom, validTo].includes(BAD_TIME) || dates.some(Number.isNaN)
    ? null
    : summaryOf(certificate, now);
}

function summaryOf(certificate: X509Certificate, now: number): Certificate {
  const { subject, issuer, validFromDate, validToDate } = certificate;
  return {
    issuer: oneLine(issuer),
    subject: oneLine(subject),
    valid_from: formatInstant(validFromDate.getTime()),
    expiry: formatInstant(validToDate.getTime()),
    days: Math.floor((validToDate.getTime() - now) / DAY_MS),
  };
}

const MAX_NAME_LENGTH = 1000;

/** Node gives a distinguished name one line per part; a certificate may have no name. */
const oneLine = (name: string | undefined): string => {
  const line = (name ?? "").trim().replaceAll("\n", ", ");
  return line.length > MAX_NAME_LENGTH ? `${line.slice(0, MAX_NAME_LENGTH)}…` : line;
};
