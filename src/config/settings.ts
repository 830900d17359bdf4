// Every setting: its name, default, meaning and allowed values. config.ts reads them.
import { isIP } from "node:net";
import { resolve } from "node:path";
import { EGRESS_ENTRIES } from "../model/egress-entry.ts";
import { LocationId } from "../model/location.ts";
import { createValidator } from "../model/validate.ts";
import { CLIENT_SETTINGS } from "./client-settings.ts";
import { DATABASE_SETTINGS } from "./database-settings.ts";
import { LIMIT_SETTINGS } from "./limit-settings.ts";
import { TRACING_SETTINGS } from "./tracing-settings.ts";
import { METRICS_SETTINGS } from "./metrics-settings.ts";
import { NATS_SETTINGS } from "./nats-settings.ts";
import { optional, setting, wholeNumber } from "./setting.ts";
import {
  addressRange,
  atLeastOne,
  baseUrl,
  destination,
  hostAndPort,
  integer,
  keyBytes,
  listOf,
  matching,
  oneOf,
} from "./setting-values.ts";

export const ROLES = ["api", "scheduler", "agent", "aggregator"] as const;
export type Role = (typeof ROLES)[number];

const LOG_FORMATS = ["auto", "json", "pretty"] as const;
const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

const location = createValidator(LocationId);

const port = integer(0, 65_535);
const host = (text: string): string | undefined =>
  isIP(text) ? text : matching(/^[A-Za-z0-9][A-Za-z0-9._-]*$/)(text);
const HOST = "a host name or an IP address";
const PORT = "a port (0 to 65535; 0 asks the system for a free one)";

export const SETTINGS = {
  host: setting({
    env: "SONDE_HOST",
    default: "127.0.0.1",
    meaning: "Listening address of the API and the web pages",
    allowed: HOST,
    parse: host,
  }),
  port: setting({
    env: "SONDE_PORT",
    default: "8080",
    meaning: "Port of the API, the OpenAPI document and the web pages",
    allowed: PORT,
    parse: port,
  }),
  opsHost: setting({
    env: "SONDE_OPS_HOST",
    default: "127.0.0.1",
    meaning: "Listening address of the ops server, which requires no key",
    allowed: HOST,
    parse: host,
  }),
  opsPort: setting({
    env: "SONDE_OPS_PORT",
    default: "9464",
    meaning: "Port of the ops server: `/livez`, `/readyz` and `/metrics`",
    allowed: PORT,
    parse: port,
  }),
  maxConnections: wholeNumber({
    env: "SONDE_MAX_CONNECTIONS",
    default: "1000",
    meaning:
      "Maximum concurrent connections to the API, and to the ops server; further ones are closed",
    range: [1, 100_000],
  }),
  trustProxy: setting({
    env: "SONDE_TRUST_PROXY",
    default: "",
    defaultMeaning: "none",
    meaning:
      "Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted: comma-separated addresses and ranges (`10.0.0.0/8`), or the number of proxies in front of Sonde (`1`); see [Proxies](#proxies)",
    allowed:
      "a comma-separated list of addresses and ranges such as 10.0.0.0/8, or a number of proxies from 1 to 16",
    parse: (text): number | readonly string[] | undefined =>
      integer(1, 16)(text) ?? listOf(addressRange)(text),
  }),
  publicUrl: optional({
    env: "SONDE_PUBLIC_URL",
    defaultMeaning: "none",
    meaning:
      "Public URL of the API and the web pages, such as `https://sonde.example.com`, for links and the OpenAPI document; see [Proxies](#proxies)",
    allowed: "an http:// or https:// URL without user, query and fragment",
    parse: baseUrl,
  }),
  sessionIdleMinutes: wholeNumber({
    env: "SONDE_SESSION_IDLE",
    default: "720",
    meaning: "Idle timeout of sessions of the web pages, in minutes",
    range: [5, 43_200],
  }),
  maxEventStreams: wholeNumber({
    env: "SONDE_MAX_EVENT_STREAMS",
    default: "500",
    meaning:
      "Maximum open event streams in each process that serves the API; one owner gets at most half. Further ones get 429. Each open page uses one",
    range: [1, 100_000],
  }),
  dataDir: setting({
    env: "SONDE_DATA_DIR",
    default: ".sonde",
    defaultMeaning: "`.sonde` in the working directory",
    meaning: "Data folder: the embedded database, the agent's spool and generated keys",
    allowed: "a path",
    parse: (text) => (text.includes("\0") ? undefined : resolve(text)),
  }),
  ...DATABASE_SETTINGS,
  ...NATS_SETTINGS,
  ...METRICS_SETTINGS,
  roles: setting({
    env: "SONDE_ROLES",
    option: "--roles",
    default: ROLES.join(","),
    defaultMeaning: "all four",
    meaning: `Roles of this process, comma-separated: ${ROLES.map((role) => `\`${role}\``).join(", ")}; same as \`--roles\``,
    allowed: `a comma-separated list of ${ROLES.join(", ")}`,
    parse: atLeastOne(listOf(oneOf(ROLES))),
  }),
  location: setting({
    env: "SONDE_LOCATION",
    default: "local",
    meaning:
      "Location of this process's agents. On an empty database, a hub creates it as the first and default location",
    allowed: "a location id (1 to 64 letters, digits, _ or -)",
    parse: (text) => (location.accepts(text) ? text : undefined),
  }),
  locationKeys: optional({
    env: "SONDE_LOCATION_KEY",
    secret: true,
    defaultMeaning: "derived from the master key, if set",
    meaning:
      "Key that seals messages between the hub and the location's agents on NATS, as printed by `sonde locations env`; previous keys may follow, comma-separated",
    allowed: "a comma-separated list of 32 bytes each, as base64 or as 64 hex digits",
    parse: atLeastOne(listOf(keyBytes)),
  }),
  bootstrapKey: optional({
    env: "SONDE_BOOTSTRAP_KEY",
    secret: true,
    defaultMeaning: "generated on first start",
    meaning: "First API key of an empty database, with level OWNER: 32 letters and digits",
    allowed: "32 characters of A-Z, a-z, 0-9",
    parse: matching(/^[A-Za-z0-9]{32}$/),
  }),
  ...CLIENT_SETTINGS,
  masterKey: optional({
    env: "SONDE_MASTER_KEY",
    secret: true,
    defaultMeaning: "generated on first start",
    meaning: "Key that encrypts stored secrets: 32 bytes as base64 or hex",
    allowed: "32 bytes as base64 or as 64 hex digits",
    parse: keyBytes,
  }),
  masterKeysOld: optional({
    env: "SONDE_MASTER_KEYS_OLD",
    secret: true,
    defaultMeaning: "none",
    meaning:
      "Previous master keys, comma-separated, for secrets not yet re-encrypted; see [Rotation](security.md#rotation)",
    allowed: "a comma-separated list of 32 bytes each, as base64 or as 64 hex digits",
    parse: atLeastOne(listOf(keyBytes)),
  }),
  egressAllow: setting({
    env: "SONDE_EGRESS_ALLOW",
    default: "",
    defaultMeaning: "none",
    meaning:
      "Targets allowed beyond public addresses, comma-separated: addresses, ranges (`10.1.0.0/16`) or `localhost`, each with an optional port (`127.0.0.1:8080`, `[::1]:8080`)",
    allowed: `a comma-separated list in which each item is ${EGRESS_ENTRIES}`,
    parse: listOf(destination),
  }),
  uplinkCheck: setting({
    env: "SONDE_UPLINK_CHECK",
    default: "",
    defaultMeaning: "the NATS servers, if any",
    meaning:
      "Hosts that the agent tries to reach before it blames a target for a network failure, comma-separated `host:port`: if none answers, the agent's own network is down",
    allowed: "a comma-separated list of host:port",
    parse: listOf(hostAndPort),
  }),
  logLevel: setting({
    env: "SONDE_LOG_LEVEL",
    default: "info",
    meaning: `Minimum log level: ${LOG_LEVELS.map((level) => `\`${level}\``).join(", ")}`,
    allowed: `one of ${LOG_LEVELS.join(", ")}`,
    parse: oneOf(LOG_LEVELS),
  }),
  logFormat: setting({
    env: "SONDE_LOG_FORMAT",
    default: "auto",
    meaning:
      "`json`: one JSON object per line; `pretty`: lines for people; `auto`: `pretty` on a terminal, otherwise `json`; see [Logs](logs.md)",
    allowed: `one of ${LOG_FORMATS.join(", ")}`,
    parse: oneOf(LOG_FORMATS),
  }),
  ...TRACING_SETTINGS,
  tokenInQuery: setting({
    env: "SONDE_TOKEN_IN_QUERY",
    default: "true",
    meaning: "Whether the API accepts a key in the query parameter `_token`",
    allowed: "true or false",
    parse: (text) => (text === "true" ? true : text === "false" ? false : undefined),
  }),
  ...LIMIT_SETTINGS,
  agentConcurrency: wholeNumber({
    env: "SONDE_AGENT_CONCURRENCY",
    default: "500",
    meaning: "Maximum concurrent calls of all agents in this process",
    range: [1, 100_000],
  }),
  agentThreads: wholeNumber({
    env: "SONDE_AGENT_THREADS",
    default: "1",
    meaning:
      "Agents of the location in this process, each in its own thread; use one per spare core",
    range: [1, 64],
  }),
};
