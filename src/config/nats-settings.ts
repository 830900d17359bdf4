// The settings of NATS: its servers, authentication, and the size of its streams.
import { optional, wholeNumber } from "./setting.ts";
import {
  atLeastOne,
  certificates,
  isDecodable,
  listOf,
  matching,
  urlOf,
} from "./setting-values.ts";

/** Its user and password are percent-encoded. */
function natsUrl(text: string): string | undefined {
  const url = urlOf(["nats:", "tls:"])(text);
  if (url === undefined) return undefined;
  const { username, password } = new URL(url);
  return isDecodable(username + password) ? url : undefined;
}

/** The maximum size of a stream in NATS, in MiB. */
const streamLimit = (env: string, fallback: string, what: string) =>
  wholeNumber({
    env,
    default: fallback,
    meaning: `Maximum size of ${what}, in MiB, in NATS; see [NATS](#nats)`,
    range: [1, 1_048_576],
  });

export const NATS_SETTINGS = {
  natsUrls: optional({
    env: "SONDE_NATS_URL",
    secret: true,
    defaultMeaning: "in-process bus",
    meaning: "NATS servers, comma-separated: `nats://host:port` or `tls://user:password@host:port`",
    allowed:
      "a comma-separated list of nats:// or tls:// URLs with a host; a % in a password is %25",
    parse: atLeastOne(listOf(natsUrl)),
  }),
  natsCredentials: optional({
    env: "SONDE_NATS_CREDENTIALS",
    secret: true,
    defaultMeaning: "none",
    meaning: "Contents of the `.creds` file that authenticates to NATS",
    allowed: "the contents of a .creds file (a user JWT and its seed)",
    parse: (text) => (/BEGIN NATS USER JWT[^]+BEGIN USER NKEY SEED/.test(text) ? text : undefined),
  }),
  natsNkey: optional({
    env: "SONDE_NATS_NKEY",
    secret: true,
    defaultMeaning: "none",
    meaning:
      "Seed of the nkey that authenticates to NATS, as written by `sonde locations env` and `sonde locations nats-config`; see [regions.md](regions.md)",
    allowed: "the seed of a user nkey (58 characters that start with SU)",
    parse: matching(/^SU[A-Z2-7]{56}$/),
  }),
  natsCa: optional({
    env: "SONDE_NATS_CA",
    hasFile: true,
    defaultMeaning: "public CAs",
    meaning: "CA certificates (PEM) to verify the certificates of the NATS servers; turns TLS on",
    allowed: "one or more certificates in PEM",
    parse: certificates,
  }),
  natsCert: optional({
    env: "SONDE_NATS_CERT",
    hasFile: true,
    defaultMeaning: "none",
    meaning: "Client certificate (PEM) for NATS servers that ask for one; turns TLS on",
    allowed: "one or more certificates in PEM",
    parse: certificates,
  }),
  natsKey: optional({
    env: "SONDE_NATS_KEY",
    secret: true,
    defaultMeaning: "none",
    meaning: "Private key (PEM) of that certificate",
    allowed: "a private key in PEM",
    parse: matching(/-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/),
  }),
  natsTicksMiB: streamLimit("SONDE_NATS_TICKS_MIB", "256", "ticks not yet run"),
  natsResultsMiB: streamLimit("SONDE_NATS_RESULTS_MIB", "1024", "results not yet recorded"),
  natsReplicas: optional({
    env: "SONDE_NATS_REPLICAS",
    defaultMeaning: "3 in a cluster, otherwise 1",
    meaning: "Copies of each tick and result, each on its own NATS server; see [NATS](#nats)",
    allowed: "1, 3 or 5",
    parse: (text) => [1, 3, 5].find((replicas) => String(replicas) === text),
  }),
};
