// TLS to PostgreSQL by the parameters of its URL: verified unless they say otherwise.
import { readFileSync } from "node:fs";
import { show } from "../../model/validate.ts";
import { codeOf } from "../../runtime/error-code.ts";

export interface SecuredUrl {
  /** Without its TLS parameters, which pg would interpret in its own way. */
  readonly url: string;
  readonly ssl: false | TlsOptions;
}

/** Certificates and key are PEM. */
interface TlsOptions {
  readonly rejectUnauthorized: boolean;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

const PARAMETERS = ["ssl", "sslmode", "sslrootcert", "sslcert", "sslkey", "uselibpqcompat"];
/** libpq's name for the system's trusted CAs. */
export const SYSTEM = "system";

/**
 * `ca`: PEM of the authorities, which turns TLS on. Every `sslmode` verifies certificate and host,
 * except `disable` and `no-verify`. Throws for a file that cannot be read.
 */
export function securedUrl(given: string, ca?: string): SecuredUrl {
  const url = new URL(given);
  const [ssl, mode, root, cert, key] = PARAMETERS.map((name) => url.searchParams.get(name));
  for (const name of PARAMETERS) url.searchParams.delete(name);
  const isWanted = ssl !== null && ssl !== "0" && ssl !== "false";
  const isOn = isWanted || [ca, mode, root, cert].some((value) => value != null);
  if (!isOn || mode === "disable") return { url: url.href, ssl: false };
  const authority = ca ?? (root && root !== SYSTEM ? read("sslrootcert", root) : undefined);
  return {
    url: url.href,
    ssl: {
      rejectUnauthorized: mode !== "no-verify" && ssl !== "no-verify",
      ...(authority && { ca: authority }),
      ...(cert && { cert: read("sslcert", cert) }),
      ...(key && { key: read("sslkey", key) }),
    },
  };
}

function read(parameter: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new Error(
      `SONDE_DATABASE_URL: cannot read ${parameter}=${show(path)} (${code}): name a file that this process may read`,
      { cause },
    );
  }
}

const NO_TLS = "The server does not support SSL connections";

/** https://nodejs.org/api/tls.html#x509-certificate-error-codes, and errors of TLS itself. */
const TLS_CODE =
  /^(ERR_(TLS|SSL)_|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH)/;

/** Whether TLS made the connection fail: a certificate, a version, or a server without TLS. */
export const isTlsFault = (error: unknown): error is Error =>
  error instanceof Error && (TLS_CODE.test(codeOf(error)) || error.message === NO_TLS);

/** Returns the reason in parentheses, and what to do about it. */
export function tlsAdvice(error: Error): string {
  // Node adds advice about one of its own options.
  const [reason] = error.message.split(";");
  return `(${reason}): ${remedyOf(error)}`;
}

function remedyOf(error: Error): string {
  const code = codeOf(error);
  if (error.message === NO_TLS)
    return "turn TLS on at the server (ssl = on), or set sslmode=disable in SONDE_DATABASE_URL and no SONDE_DATABASE_CA";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return "name a host of the certificate in SONDE_DATABASE_URL, or give the server a certificate for this one";
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID")
    return "renew the server's certificate, and check this machine's clock";
  if (/^(ERR_TLS|ERR_SSL)/.test(code)) return "check the TLS settings of the server";
  return "set SONDE_DATABASE_CA to the certificate of the authority that signed the server's";
}
