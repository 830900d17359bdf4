// Configuration: defaults, every fault reported at once, secrets never shown.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parseEgressAllow } from "../../src/net/egress.ts";
import { loadConfig, renderConfig } from "../../src/config/config.ts";
import type { Environment } from "../../src/config/config.ts";
import type { Setting } from "../../src/config/setting.ts";
import { SETTINGS } from "../../src/config/settings.ts";
import { createCertificates } from "../support/certificates.ts";

const SECRET = "Marker0Secret0Marker0Secret0Mark";
const CREDENTIALS = `-----BEGIN NATS USER JWT-----
${SECRET}
------END NATS USER JWT------
-----BEGIN USER NKEY SEED-----
SU${SECRET}
------END USER NKEY SEED------`;

/** Returns the fault lines of a configuration; empty if it loads. */
function faultsOf(env: Environment, overrides: Environment = {}): string[] {
  try {
    loadConfig(env, overrides);
    return [];
  } catch (err) {
    return (err as Error).message.split("\n  ").slice(1);
  }
}

function secretFile(content: string) {
  const folder = mkdtempSync(join(tmpdir(), "sonde-config-"));
  const path = join(folder, "secret");
  writeFileSync(path, content, { mode: 0o600 });
  return { path, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

describe("the configuration", () => {
  it("defaults to the embedded, frozen setup for an empty environment", () => {
    const config = loadConfig({ PATH: "/bin", HOME: "/root" });
    expect(config).toStrictEqual({
      host: "127.0.0.1",
      port: 8080,
      callMetrics: "on",
      callMetricsMax: 1000,
      opsHost: "127.0.0.1",
      opsPort: 9464,
      maxConnections: 1000,
      maxEventStreams: 500,
      trustProxy: [],
      publicUrl: undefined,
      sessionIdleMinutes: 720,
      dataDir: resolve(".sonde"),
      databaseUrl: undefined,
      databaseCa: undefined,
      databaseConnections: 10,
      databaseTimeout: 30,
      migrate: "on",
      natsUrls: undefined,
      natsCredentials: undefined,
      natsNkey: undefined,
      natsCa: undefined,
      natsCert: undefined,
      natsKey: undefined,
      natsTicksMiB: 256,
      natsResultsMiB: 1024,
      natsReplicas: undefined,
      roles: ["api", "scheduler", "agent", "aggregator"],
      location: "local",
      locationKeys: undefined,
      bootstrapKey: undefined,
      apiUrl: undefined,
      apiKey: undefined,
      masterKey: undefined,
      masterKeysOld: undefined,
      egressAllow: [],
      uplinkCheck: [],
      logLevel: "info",
      logFormat: "auto",
      otlpUrl: undefined,
      otlpHeaders: undefined,
      otlpSample: 1,
      tokenInQuery: true,
      maxRequestsPerMinute: 30_000,
      maxObjects: 100_000,
      maxDefinitionsMiB: 1024,
      maxKeys: 1000,
      maxManualRuns: 100,
      maxWaitingMiB: 64,
      retentionDetails: 14,
      retentionRaw: 90,
      retentionHours: 400,
      retentionAudit: 400,
      agentConcurrency: 500,
      agentThreads: 1,
    });
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config.roles)).toBe(true);
  });

  it("reads every setting from the environment", () => {
    const config = loadConfig({
      SONDE_HOST: "::1",
      SONDE_PORT: "0",
      SONDE_OPS_HOST: "ops.internal",
      SONDE_OPS_PORT: "65535",
      SONDE_MAX_CONNECTIONS: "20",
      SONDE_MAX_EVENT_STREAMS: "30",
      SONDE_DATA_DIR: "/var/lib/sonde",
      SONDE_TRUST_PROXY: "10.0.0.0/8, 2001:db8::1",
      SONDE_PUBLIC_URL: "https://sonde.example.com:8443/base/",
      SONDE_SESSION_IDLE: "30",
      SONDE_DATABASE_URL: "postgres://sonde:pw@db:5432/sonde",
      SONDE_DATABASE_CONNECTIONS: "50",
      SONDE_DATABASE_TIMEOUT: "5",
      SONDE_MIGRATE: "off",
      SONDE_NATS_URL: "nats://a:4222, tls://user:pw@b",
      SONDE_NATS_CREDENTIALS: CREDENTIALS,
      SONDE_ROLES: "agent,api,agent",
      SONDE_LOCATION: "eu-west_1",
      SONDE_BOOTSTRAP_KEY: SECRET,
      SONDE_MASTER_KEY: "00".repeat(31) + "ff",
      SONDE_EGRESS_ALLOW:
        "10.0.0.0/8,10.0.0.0/8:80,fd00::/8,127.0.0.1,::1,localhost,localhost:8080,[::1]:80",
      SONDE_LOG_LEVEL: "debug",
      SONDE_TOKEN_IN_QUERY: "false",
      SONDE_RETENTION_DETAILS: "1",
      SONDE_RETENTION_RAW: "7",
      SONDE_RETENTION_HOURS: "31",
      SONDE_RETENTION_AUDIT: "36500",
      SONDE_AGENT_CONCURRENCY: "64",
      SONDE_AGENT_THREADS: "64",
    });
    expect(config).toMatchObject({
      host: "::1",
      port: 0,
      opsHost: "ops.internal",
      opsPort: 65_535,
      maxConnections: 20,
      maxEventStreams: 30,
      dataDir: "/var/lib/sonde",
      trustProxy: ["10.0.0.0/8", "2001:db8::1"],
      publicUrl: "https://sonde.example.com:8443/base",
      sessionIdleMinutes: 30,
      databaseUrl: "postgres://sonde:pw@db:5432/sonde",
      databaseConnections: 50,
      databaseTimeout: 5,
      migrate: "off",
      natsUrls: ["nats://a:4222", "tls://user:pw@b"],
      natsCredentials: CREDENTIALS,
      roles: ["agent", "api"],
      location: "eu-west_1",
      bootstrapKey: SECRET,
      egressAllow: [
        "10.0.0.0/8",
        "10.0.0.0/8:80",
        "fd00::/8",
        "127.0.0.1",
        "::1",
        "localhost",
        "localhost:8080",
        "[::1]:80",
      ],
      logLevel: "debug",
      tokenInQuery: false,
      retentionDetails: 1,
      retentionRaw: 7,
      retentionHours: 31,
      retentionAudit: 36_500,
      agentConcurrency: 64,
      agentThreads: 64,
    });
    expect(() => parseEgressAllow(config.egressAllow)).not.toThrow();
    expect([...(config.masterKey ?? [])]).toEqual([...Array<number>(31).fill(0), 255]);
  });

  it("accepts a number of proxies", () => {
    expect(loadConfig({ SONDE_TRUST_PROXY: "2" }).trustProxy).toBe(2);
  });

  it("reads certificates from a file, and does not print them", () => {
    const { authority, good } = createCertificates();
    const pem = authority.cert + good.cert;
    using file = secretFile(pem);
    const config = loadConfig({ SONDE_DATABASE_CA_FILE: file.path });
    expect(config.databaseCa).toBe(pem.trimEnd());
    expect(renderConfig(config)).toContain("SONDE_DATABASE_CA=[set]\n");
    expect(faultsOf({ SONDE_DATABASE_CA: pem.replace("MI", "XX") })).toHaveLength(1);
    const url = "postgres://db/sonde?sslmode=no-verify";
    expect(faultsOf({ SONDE_DATABASE_CA: pem, SONDE_DATABASE_URL: url })).toEqual([
      "SONDE_DATABASE_URL: sslmode 'no-verify' verifies nothing, though SONDE_DATABASE_CA is set: use verify-full",
    ]);
  });

  it("says how to write a % in a database's URL, but accepts each that pg can read", () => {
    expect(faultsOf({ SONDE_DATABASE_URL: `postgres://sonde:${SECRET}%ff@db/s` })).toEqual([
      "SONDE_DATABASE_URL: the value given is not a postgres:// or postgresql:// URL with a host; a % in a password or name is %25",
    ]);
    for (const url of [
      "postgres://sonde:100%25ff@db/s",
      "postgres://j%C3%B6rg:p%40ss@db/s?application_name=%ff",
      "postgres://sonde:50%ss@db/s",
      "postgres://sonde:50%@db/s",
      "postgres://sonde@%2Fvar%2Frun/s",
    ])
      expect(loadConfig({ SONDE_DATABASE_URL: url }).databaseUrl).toBe(url);
  });

  it("accepts a master key as base64", () => {
    const key = Buffer.alloc(32, 7);
    const { masterKey } = loadConfig({
      SONDE_MASTER_KEY: key.toString("base64"),
    });
    expect(key.equals(masterKey ?? Buffer.alloc(0))).toBe(true);
  });

  it("treats an empty variable as unset", () => {
    expect(loadConfig({ SONDE_PORT: "", SONDE_NATS_URL: "" })).toEqual(loadConfig({}));
  });

  it("gives the command line precedence over the environment", () => {
    const env = { SONDE_PORT: "1", SONDE_BOOTSTRAP_KEY_FILE: "/not/there" };
    const config = loadConfig(env, {
      SONDE_PORT: "2",
      SONDE_BOOTSTRAP_KEY: SECRET,
    });
    expect(config.port).toBe(2);
    expect(config.bootstrapKey).toBe(SECRET);
  });

  it.each([
    ["--roles: 'foo' is not", { SONDE_ROLES: "foo" }],
    ["--roles: 'agent' leaves", { SONDE_ROLES: "agent" }],
    ["--api-url: 'foo' is not", { SONDE_API_URL: "foo" }],
  ])("names a fault by the option or the variable that was given: %s", (fault, given) => {
    expect(faultsOf({}, given)).toEqual([expect.stringContaining(fault)]);
    const [variable] = Object.keys(given);
    expect(faultsOf(given)).toEqual([
      expect.stringContaining(fault.replace(/^[\w-]+/, String(variable))),
    ]);
  });
});

describe("a secret", () => {
  it("is read from the file named by its _FILE variable, without the final line break", () => {
    using file = secretFile(`${SECRET}\n`);
    expect(loadConfig({ SONDE_BOOTSTRAP_KEY_FILE: file.path }).bootstrapKey).toBe(SECRET);
  });

  it("is rejected when set both directly and by file", () => {
    using file = secretFile(SECRET);
    const env = {
      SONDE_BOOTSTRAP_KEY: SECRET,
      SONDE_BOOTSTRAP_KEY_FILE: file.path,
    };
    expect(faultsOf(env)).toEqual([
      "SONDE_BOOTSTRAP_KEY and SONDE_BOOTSTRAP_KEY_FILE are both set: unset one of them",
    ]);
  });

  it("is reported when its file cannot be read", () => {
    expect(faultsOf({ SONDE_MASTER_KEY_FILE: "/not/there" })).toEqual([
      "SONDE_MASTER_KEY_FILE: cannot read '/not/there' (ENOENT): name a file that this process may read",
    ]);
  });

  it("is asked for under the other name where its value is the path of a file", () => {
    expect(faultsOf({ SONDE_DATABASE_CA: "/etc/ssl/ca.crt", SONDE_MASTER_KEY: "./key" })).toEqual([
      "SONDE_DATABASE_CA: the value given is not one or more certificates in PEM; the path of a file belongs in SONDE_DATABASE_CA_FILE",
      "SONDE_MASTER_KEY: the value given is not 32 bytes as base64 or as 64 hex digits; the path of a file belongs in SONDE_MASTER_KEY_FILE",
    ]);
  });

  it("from a file is validated like one from the environment", () => {
    using file = secretFile("short");
    expect(faultsOf({ SONDE_MASTER_KEY_FILE: file.path })).toEqual([
      "SONDE_MASTER_KEY: the value given is not 32 bytes as base64 or as 64 hex digits",
    ]);
  });

  it.each([
    "SONDE_BOOTSTRAP_KEY",
    "SONDE_MASTER_KEY",
    "SONDE_DATABASE_URL",
    "SONDE_NATS_URL",
    "SONDE_NATS_CREDENTIALS",
    // Instead of a certificate, these may hold its key, by mistake.
    "SONDE_NATS_CA",
    "SONDE_NATS_CERT",
    "SONDE_DATABASE_CA",
  ])("%s is never shown in a fault", (name) => {
    const faults = faultsOf({ [name]: `bad ${SECRET}` });
    expect(faults).toEqual([
      expect.stringMatching(new RegExp(`^${name}: the value given is not `)),
    ]);
    expect(faults.join()).not.toContain(SECRET);
  });

  it.each([
    ["SONDE_HOST", `nats://user:${SECRET}@host`, "nats://[redacted]@host"],
    ["SONDE_API_URL", `https://user:a/${SECRET}@host/`, "https://[redacted]@host/"],
    ["SONDE_OTLP_URL", `http://host/?api-key=${SECRET}`, "http://host/?[redacted]"],
    ["SONDE_OTLP_URL", `http://host/#${SECRET}`, "http://host/#[redacted]"],
  ])("is redacted from a URL in a setting that is not secret: %s %s", (name, given, shown) => {
    expect(faultsOf({ [name]: given })).toEqual([
      expect.stringContaining(`${name}: '${shown}' is not`),
    ]);
  });

  it("is printed as [set]", () => {
    const printed = renderConfig(
      loadConfig({
        SONDE_BOOTSTRAP_KEY: SECRET,
        SONDE_MASTER_KEY: "ab".repeat(32),
        SONDE_DATABASE_URL: `postgres://sonde:${SECRET}@db/sonde`,
        SONDE_NATS_CREDENTIALS: CREDENTIALS,
        SONDE_NATS_URL: `nats://a,tls://user:${SECRET}@b`,
      }),
    );
    expect(printed).not.toContain(SECRET);
    expect(printed.split("\n")).toEqual(
      expect.arrayContaining([
        "SONDE_PORT=8080",
        "SONDE_LOG_LEVEL=info",
        "SONDE_DATABASE_URL=[set]",
        "SONDE_NATS_URL=[set]",
        "SONDE_NATS_CREDENTIALS=[set]",
        "SONDE_ROLES=api,scheduler,agent,aggregator",
        "SONDE_BOOTSTRAP_KEY=[set]",
        "SONDE_MASTER_KEY=[set]",
        "SONDE_EGRESS_ALLOW=",
      ]),
    );
    expect(renderConfig(loadConfig({}))).toContain("SONDE_MASTER_KEY=\n");
  });
});

const EGRESS =
  "a comma-separated list in which each item is an address, a range whose other bits are 0 (10.0.0.0/8), localhost, or one of them with a port (127.0.0.1:8080, [::1]:8080)";

describe("an invalid value", () => {
  it.each([
    ["a host with a slash", "SONDE_HOST", "http://x", "a host name or an IP address"],
    [
      "a port in words",
      "SONDE_PORT",
      "http",
      "a port (0 to 65535; 0 asks the system for a free one)",
    ],
    [
      "a port too high",
      "SONDE_OPS_PORT",
      "65536",
      "a port (0 to 65535; 0 asks the system for a free one)",
    ],
    [
      "a negative port",
      "SONDE_PORT",
      "-1",
      "a port (0 to 65535; 0 asks the system for a free one)",
    ],
    [
      "an unknown role",
      "SONDE_ROLES",
      "api,cook",
      "a comma-separated list of api, scheduler, agent, aggregator",
    ],
    ["no role", "SONDE_ROLES", ",", "a comma-separated list of api, scheduler, agent, aggregator"],
    [
      "a location with a dot",
      "SONDE_LOCATION",
      "eu.west",
      "a location id (1 to 64 letters, digits, _ or -)",
    ],
    ["a prefix too long", "SONDE_EGRESS_ALLOW", "10.0.0.0/33", EGRESS],
    ["a range with host bits", "SONDE_EGRESS_ALLOW", "1.2.3.4/0", EGRESS],
    ["an address that may have a port", "SONDE_EGRESS_ALLOW", "::1:8080", EGRESS],
    ["a host name", "SONDE_EGRESS_ALLOW", "example.com:443", EGRESS],
    ["a zone", "SONDE_EGRESS_ALLOW", "fe80::1%eth0", EGRESS],
    ["a mapped range", "SONDE_EGRESS_ALLOW", "::ffff:10.0.0.0/104", EGRESS],
    ["port 0", "SONDE_EGRESS_ALLOW", "localhost:0", EGRESS],
    ["a port too high", "SONDE_EGRESS_ALLOW", "[::1]:65536", EGRESS],
    [
      "a hub without a port",
      "SONDE_UPLINK_CHECK",
      "192.0.2.1",
      "a comma-separated list of host:port",
    ],
    [
      "an unknown level",
      "SONDE_LOG_LEVEL",
      "loud",
      "one of trace, debug, info, warn, error, fatal, silent",
    ],
    ["yes", "SONDE_TOKEN_IN_QUERY", "yes", "true or false"],
    ["zero calls", "SONDE_AGENT_CONCURRENCY", "0", "a whole number from 1 to 100000"],
    ...["DETAILS", "RAW", "HOURS", "AUDIT"].flatMap((kind) =>
      ["0", "36501", "1.5", "-1", "ever"].map((text) => [
        `${text} days of ${kind}`,
        `SONDE_RETENTION_${kind}`,
        text,
        "a whole number of days from 1 to 36500",
      ]),
    ),
    ["no thread", "SONDE_AGENT_THREADS", "0", "a whole number from 1 to 64"],
    ["too many threads", "SONDE_AGENT_THREADS", "65", "a whole number from 1 to 64"],
    ["half a call", "SONDE_AGENT_CONCURRENCY", "1.5", "a whole number from 1 to 100000"],
  ])("is reported with the allowed values: %s", (_, name, value, allowed) => {
    expect(faultsOf({ [name]: value })).toEqual([`${name}: '${value}' is not ${allowed}`]);
  });

  it.each([
    ["another protocol", "SONDE_NATS_URL", "http://host"],
    ["no protocol", "SONDE_NATS_URL", "host:4222"],
    ["one bad of two", "SONDE_NATS_URL", "nats://a,b"],
    ["another database", "SONDE_DATABASE_URL", "mysql://host/db"],
    ["no host", "SONDE_DATABASE_URL", "postgres:///db"],
    ["a key too short", "SONDE_BOOTSTRAP_KEY", SECRET.slice(1)],
    ["a key with a dash", "SONDE_BOOTSTRAP_KEY", `-${SECRET.slice(1)}`],
    ["a proxy by its name", "SONDE_TRUST_PROXY", "proxy.internal"],
    ["every address as a proxy", "SONDE_TRUST_PROXY", "0.0.0.0/0"],
    ["no proxy", "SONDE_TRUST_PROXY", "0"],
    ["a session that nobody could use", "SONDE_SESSION_IDLE", "4"],
    ["a session beyond thirty days", "SONDE_SESSION_IDLE", "43201"],
    ["a public URL with a query", "SONDE_PUBLIC_URL", "https://sonde.example.com/?a=1"],
    ["a public URL without a protocol", "SONDE_PUBLIC_URL", "sonde.example.com"],
    ["no certificate", "SONDE_DATABASE_CA", "/etc/ssl/ca.pem"],
    ["one connection, which a transaction may need", "SONDE_DATABASE_CONNECTIONS", "1"],
    ["no time", "SONDE_DATABASE_TIMEOUT", "0"],
    ["an unknown choice", "SONDE_MIGRATE", "no"],
    ["a mode in which TLS is optional", "SONDE_DATABASE_URL", "postgres://db/s?sslmode=prefer"],
    ["a mode under another name", "SONDE_DATABASE_URL", "postgres://db/s?SSLMode=verify-full"],
    ["a password with a bare %", "SONDE_NATS_URL", "nats://sonde:50%ss@nats"],
    ["a password in another encoding", "SONDE_DATABASE_URL", "postgres://sonde:abc%e4x@db/s"],
    ["a password with % before digits", "SONDE_DATABASE_URL", "postgres://sonde:100%ff@db/s"],
    ["a user in another encoding", "SONDE_DATABASE_URL", "postgres://j%f6rg:pw@db/s"],
    ["a name that ends with half an escape", "SONDE_DATABASE_URL", "postgres://sonde@db/t%1"],
    ["31 bytes", "SONDE_MASTER_KEY", "00".repeat(31)],
    ["no seed", "SONDE_NATS_CREDENTIALS", "-----BEGIN NATS USER JWT-----"],
  ])("is rejected: %s", (_, name, value) => {
    expect(faultsOf({ [name]: value })).toHaveLength(1);
  });

  it("is refused if fewer calls than agents are allowed at a time", () => {
    const env = { SONDE_AGENT_CONCURRENCY: "3", SONDE_AGENT_THREADS: "4" };
    expect(faultsOf(env)).toEqual([
      "SONDE_AGENT_CONCURRENCY: 3 leaves some of the 4 agents of SONDE_AGENT_THREADS without a call: set at least 4",
    ]);
    expect(faultsOf({ ...env, SONDE_AGENT_CONCURRENCY: "4" })).toEqual([]);
  });

  it("does not hide other faults", () => {
    const faults = faultsOf({
      SONDE_PROT: "1",
      SONDE_PORT: "http",
      SONDE_LOG_LEVEL: "loud",
      SONDE_MASTER_KEY: "x",
      SONDE_BOOTSTRAP_KEY_FILE: "/not/there",
    });
    expect(faults.map((fault) => /^SONDE_[A-Z_]+/.exec(fault)?.[0])).toEqual([
      "SONDE_PROT",
      "SONDE_PORT",
      "SONDE_BOOTSTRAP_KEY_FILE",
      "SONDE_MASTER_KEY",
      "SONDE_LOG_LEVEL",
    ]);
  });
});

describe("an unknown variable", () => {
  it.each([
    ["SONDE_PROT", "SONDE_PORT"],
    ["SONDE_DATABASE", "SONDE_DATABASE_URL"],
    ["SONDE_NATS_URLS", "SONDE_NATS_URL"],
    ["SONDE_MASTERKEY", "SONDE_MASTER_KEY"],
    ["SONDE_PORT_FILE", "SONDE_PORT"],
    ["SONDE_URL", "SONDE_API_URL"],
    ["SONDE_KEY", "SONDE_API_KEY"],
  ])("%s is a fault that suggests %s", (name, nearest) => {
    expect(faultsOf({ [name]: "1" })).toEqual([
      `${name} is not a setting: did you mean ${nearest}?`,
    ]);
  });

  it("of another program is ignored", () => {
    expect(faultsOf({ SONDEX: "1", MY_SONDE_PORT: "x" })).toEqual([]);
  });
});

describe("roles in separate processes", () => {
  const NATS = { SONDE_NATS_URL: "nats://hub" };
  const DATABASE = { SONDE_DATABASE_URL: "postgres://db/sonde" };
  const HEX = "5a".repeat(32);
  const KEY = { SONDE_LOCATION_KEY: HEX };

  it.each([
    ["an agent with a bus, its key and no database", "agent", { ...NATS, ...KEY }],
    ["an agent with a bus and the master key", "agent", { ...NATS, SONDE_MASTER_KEY: HEX }],
    ["a whole hub with a bus and the embedded database", "api,scheduler,aggregator", NATS],
    ["a part of the hub with both", "api", { ...NATS, ...DATABASE }],
    ["all roles in one process with neither", "api,scheduler,agent,aggregator", {}],
  ])("are accepted: %s", (_, roles, env) => {
    expect(faultsOf(env, { SONDE_ROLES: roles })).toEqual([]);
  });

  it.each([
    ["an agent without a bus", "agent", {}, ["SONDE_NATS_URL"]],
    ["an agent without a key", "agent", NATS, ["SONDE_LOCATION_KEY"]],
    ["a hub without a bus", "api,scheduler,aggregator", DATABASE, ["SONDE_NATS_URL"]],
    ["a part of the hub without a database", "api,agent", NATS, ["SONDE_DATABASE_URL"]],
    ["a part of the hub without either", "scheduler", {}, ["SONDE_NATS_URL", "SONDE_DATABASE_URL"]],
  ])("are rejected: %s", (_, roles, env, needed) => {
    const faults = faultsOf({ ...env, SONDE_ROLES: roles });
    expect(faults.map((fault) => /: set (\w+)/.exec(fault)?.[1])).toEqual(needed);
  });
});

describe("docs/configuration.md", () => {
  it("has a row for each setting", () => {
    const lines = readFileSync("docs/configuration.md", "utf8").split("\n");
    const rows = lines
      .filter((line) => line.startsWith("| `SONDE_"))
      .map((line) => line.replaceAll(/ *\| */g, " | ").trim());
    const settings: readonly Setting<unknown>[] = Object.values(SETTINGS);
    const expected = settings.map((setting) => {
      const { env, secret, hasFile, defaultMeaning = `\`${setting.default}\`` } = setting;
      const fromFile = secret || hasFile ? `: also \`${env}_FILE\`` : "";
      return `| \`${env}\` | ${defaultMeaning} | ${setting.meaning} | ${secret ? "yes" : "no"}${fromFile} |`;
    });
    const advice = "add the rows with -, remove those with +, then: npm run format";
    expect(rows, advice).toEqual(expected);
  });
});

describe("how a process authenticates to NATS", () => {
  const nkey = `SU${"A".repeat(56)}`;
  it.each([
    [
      "an nkey and a user",
      { SONDE_NATS_NKEY: nkey, SONDE_NATS_URL: "nats://user:password@nats" },
      "SONDE_NATS_NKEY and the user in SONDE_NATS_URL both authenticate: set one of them",
    ],
    [
      "a certificate without its key",
      { SONDE_NATS_KEY: "-----BEGIN PRIVATE KEY-----" },
      "SONDE_NATS_CERT and SONDE_NATS_KEY belong together: set both or none",
    ],
  ])("is rejected: %s", (_, env, fault) => {
    expect(faultsOf(env)).toEqual([fault]);
  });

  it("includes a certificate only with its own key", () => {
    const { good, expired } = createCertificates();
    const env = { SONDE_NATS_CERT: good.cert, SONDE_NATS_KEY: good.key };
    expect(faultsOf(env)).toEqual([]);
    expect(faultsOf({ ...env, SONDE_NATS_KEY: expired.key })).toEqual([
      "SONDE_NATS_KEY is not the unencrypted private key of SONDE_NATS_CERT",
    ]);
  });
});
