// The settings of the database: its address, TLS, and the limits on connections and time.
import { optional, setting, wholeNumber } from "./setting.ts";
import { certificates, isDecodable, oneOf, urlOf } from "./setting-values.ts";

/** The values of `sslmode` in a URL: without TLS, with it, and with it but unverified. */
export const SSL_MODES = ["disable", "require", "verify-ca", "verify-full", "no-verify"] as const;

/** The TLS parameters of a URL: another name that begins like them is a typing error. */
export const SSL_PARAMETERS = [
  "ssl",
  "sslmode",
  "sslrootcert",
  "sslcert",
  "sslkey",
  "sslnegotiation",
] as const;

/** pg decodes what is before the parameters, unless a % in it begins no escape. */
function postgresUrl(text: string): string | undefined {
  const url = urlOf(["postgres:", "postgresql:"])(text);
  const [decoded = ""] = text.split(/(?<=[?#])/);
  const isTakenLiterally = /%(?:[^a-f0-9]|[a-f0-9][^a-f0-9])/i.test(decoded);
  return isTakenLiterally || isDecodable(decoded) ? url : undefined;
}

export const DATABASE_SETTINGS = {
  databaseUrl: optional({
    env: "SONDE_DATABASE_URL",
    secret: true,
    defaultMeaning: "SQLite file in the data folder",
    meaning:
      "PostgreSQL URL, `postgres://user:password@host:port/name`; with `?sslmode=verify-full` over TLS, see [PostgreSQL](#postgresql)",
    allowed: "a postgres:// or postgresql:// URL with a host; a % in a password or name is %25",
    parse: postgresUrl,
  }),
  databaseCa: optional({
    env: "SONDE_DATABASE_CA",
    hasFile: true,
    defaultMeaning: "public CAs",
    meaning: "CA certificates (PEM) to verify PostgreSQL's certificate; turns TLS on",
    allowed: "one or more certificates in PEM",
    parse: certificates,
  }),
  databaseConnections: wholeNumber({
    env: "SONDE_DATABASE_CONNECTIONS",
    default: "10",
    meaning: "Maximum connections of this process to PostgreSQL",
    range: [2, 1000],
  }),
  databaseTimeout: wholeNumber({
    env: "SONDE_DATABASE_TIMEOUT",
    default: "30",
    meaning: "Statement timeout in PostgreSQL, in seconds; commands and migrations have no limit",
    range: [5, 3600],
    unit: "seconds",
  }),
  migrate: setting({
    env: "SONDE_MIGRATE",
    default: "on",
    meaning:
      "`on`: migrate an older schema at startup; `off`: refuse to start on an older schema until `sonde migrate` has run",
    allowed: "on or off",
    parse: oneOf(["on", "off"]),
  }),
};
