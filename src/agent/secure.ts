// TLS over an open connection: the handshake, timed, and what the server's certificate says.
import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { SecureContext, TLSSocket } from "node:tls";
import { formatInstant } from "../model/instant.ts";
import type { Certificate } from "../model/certificate.ts";
import type { Clock } from "../runtime/clock.ts";
import { CallFailure, handshakeFailure } from "./failure.ts";
import type { Trace } from "./trace.ts";

export interface Handshake {
  readonly socket: Socket;
  readonly host: string;
  readonly secureContext: SecureContext;
  readonly insecureTls: boolean;
  readonly signal: AbortSignal;
}

const DAY_MS = 86_400_000;

/** Rejects with a `CallFailure`, before anything is sent to a server that is not trusted. */
export function secure(
  clock: Clock,
  trace: Trace,
  { socket, host, secureContext, insecureTls, signal }: Handshake,
): Promise<Socket> {
  const started = clock.monotonic();
  return new Promise((resolve, reject) => {
    const secured = connectTls({
      socket,
      host,
      // RFC 6066 section 3: an address is no server name, and a name ends without a dot.
      servername: isIP(host) === 0 ? host.replace(/\.$/, "") : "",
      secureContext,
      ALPNProtocols: ["http/1.1"],
      // Judged below: a certificate that Node refuses could not be shown any more.
      rejectUnauthorized: false,
    });
    const fail = (failure: CallFailure): void => {
      signal.removeEventListener("abort", expire);
      secured.destroy();
      socket.destroy();
      reject(failure);
    };
    const expire = (): void =>
      fail(
        new CallFailure(
          "timeout",
          "the TLS handshake was not complete in time",
        ),
      );
    if (signal.aborted) return expire();
    signal.addEventListener("abort", expire, { once: true });
    secured.on("error", (cause) => fail(handshakeFailure(cause)));
    secured.once("secureConnect", () => {
      trace.certificate = certificateOf(secured, clock.now());
      if (!insecureTls && !secured.authorized)
        return fail(handshakeFailure(distrust(secured)));
      signal.removeEventListener("abort", expire);
      trace.phases.handshake = clock.monotonic() - started;
      resolve(secured);
    });
  });
}

/** Node tells the code of what it would have refused, in a field that is typed as an error. */
const distrust = ({ authorizationError }: TLSSocket): Error =>
  Object.assign(new Error("the server's certificate is not trusted"), {
    code: String(authorizationError),
  });

function certificateOf(socket: TLSSocket, now: number): Certificate | null {
  const certificate = socket.getPeerX509Certificate();
  return certificate ? summaryOf(certificate, now) : null;
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

/** A distinguished name comes with a line for each of its parts; a certificate may have none. */
const oneLine = (name: string | undefined): string =>
  (name ?? "").trim().replaceAll("\n", ", ");
