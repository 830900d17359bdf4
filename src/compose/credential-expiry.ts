// The metric of the expiry of credentials that this process uses or stores.
import { X509Certificate } from "node:crypto";
import { isHub } from "../config/config.ts";
import type { Config } from "../config/config.ts";
import { certificates, certificatesIn } from "../config/setting-values.ts";
import type { Sample } from "../runtime/exposition.ts";
import { registerSampled } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";
import { securedUrl } from "../store/postgres/postgres-tls.ts";

/** Epoch seconds by name; undefined for what does not expire. */
type Expiries = Readonly<Record<string, number | undefined>>;

/**
 * `readToken`: the earliest expiry of a token that cannot be renewed, epoch milliseconds; null:
 * none.
 */
export function registerCredentialExpiry(
  registry: Registry,
  config: Config,
  readToken: () => number | null | undefined,
): void {
  const own = expiriesOf(config);
  registerSampled({
    name: "sonde_credential_expiry_timestamp_seconds",
    help: "When a credential expires: of this process, the certificates and credentials for NATS and the database; of the hub, the first token in use that cannot be renewed.",
    registers: [registry],
    samples: () => {
      const token = readToken();
      return samplesOf({ ...own, token: token == null ? undefined : token / 1000 });
    },
  });
}

const samplesOf = (expiries: Expiries): Sample[] =>
  Object.entries(expiries).flatMap(([credential, value]) =>
    value === undefined ? [] : [{ labels: { credential }, value }],
  );

function expiriesOf(config: Config): Expiries {
  const { natsCert, natsCa, natsCredentials, databaseUrl, databaseCa } = config;
  const database = databaseUrl && isHub(config) && securedUrl(databaseUrl, databaseCa).ssl;
  return {
    nats_certificate: firstExpiry(natsCert),
    nats_ca: firstExpiry(natsCa),
    nats_credentials: expiryOfUser(natsCredentials),
    database_certificate: database ? firstExpiry(database.cert) : undefined,
    database_ca: database ? firstExpiry(database.ca) : undefined,
  };
}

/** Returns when the first of the PEM's certificates expires; undefined if one cannot be read. */
function firstExpiry(pem: string = ""): number | undefined {
  const expiries = certificatesIn(certificates(pem) ?? "").map((each) =>
    new X509Certificate(each).validToDate.getTime(),
  );
  return expiries.length === 0 ? undefined : Math.min(...expiries) / 1000;
}

/** Returns when the JWT in a `.creds` file expires. */
function expiryOfUser(credentials: string | undefined): number | undefined {
  const claims = /^[\w-]+\.([\w-]+)\.[\w-]+$/m.exec(credentials ?? "")?.[1] ?? "";
  try {
    const { exp } = JSON.parse(Buffer.from(claims, "base64url").toString()) as { exp?: unknown };
    return typeof exp === "number" ? exp : undefined;
  } catch {
    return undefined; // NATS reports the fault
  }
}
