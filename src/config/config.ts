// Turns the environment into the configuration, or lists everything wrong with it. Nothing else
// reads the environment.
import { readFileSync } from "node:fs";
import { closest } from "fastest-levenshtein";
import { show } from "../model/validate.ts";
import { isUsable } from "../runtime/client-certificate.ts";
import { SSL_MODES, SSL_PARAMETERS } from "./database-settings.ts";
import type { Setting } from "./setting.ts";
import { ROLES, SETTINGS } from "./settings.ts";
import type { Role } from "./settings.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

type Settings = typeof SETTINGS;
type ValueOf<S> = S extends Setting<infer T> ? T : never;

export type Config = {
  readonly [Name in keyof Settings]: ValueOf<Settings[Name]>;
};

/** Whether the process has a role other than `agent`, and so needs the store. */
export const isHub = ({ roles }: Pick<Config, "roles">): boolean =>
  roles.some((role) => role !== "agent");

export const isAgent = ({ roles }: Pick<Config, "roles">): boolean => roles.includes("agent");

export const readEnvironment = (): Environment => process.env;

const PREFIX = "SONDE_";
const HUB_ROLES: readonly Role[] = ROLES.filter((role) => role !== "agent");
const settings = (): [string, Setting<unknown>][] => Object.entries(SETTINGS);

/**
 * Reads the environment; `overrides` (from the command line, under the same names) take precedence.
 * An empty variable counts as unset. Throws one error whose message lists every fault on its own
 * line.
 */
export function loadConfig(env: Environment, overrides: Environment = {}): Config {
  const { config, faults } = readConfig(env, overrides);
  if (faults.length > 0) throw new Error(["invalid configuration:", ...faults].join("\n  "));
  return config;
}

export interface ReadConfig {
  /** A setting without a valid value has its default. */
  readonly config: Config;
  /** One line each, without secrets. */
  readonly faults: readonly string[];
  /** The settings without a valid value, each by the name that the user wrote. */
  readonly invalid: ReadonlyMap<keyof Config, string>;
}

/** Reads what is valid, and returns the faults instead of throwing. */
export function readConfig(env: Environment, overrides: Environment = {}): ReadConfig {
  const faults = unknownVariables(env);
  const invalid = new Map<keyof Config, string>();
  const values = settings().map(([name, setting]) => {
    const before = faults.length;
    const given = read(setting, env, overrides, faults);
    const written = writtenAs(setting, overrides);
    const value = given === null ? undefined : parse(setting, given, written, faults);
    if (faults.length === before) return [name, value];
    invalid.set(name as keyof Config, written);
    return [name, setting.default === null ? undefined : setting.parse(setting.default)];
  });
  const config = Object.freeze(Object.fromEntries(values)) as Config;
  if (faults.length === 0)
    faults.push(...contradictions(config, writtenAs(SETTINGS.roles, overrides)));
  return { config, faults, invalid };
}

/** Returns the files that secret settings are read from, by the name of the variable. */
export function settingFiles(env: Environment): ReadonlyMap<string, string> {
  const files = settings().flatMap(([, setting]): [string, string][] => {
    const name = `${setting.env}_FILE`;
    const file = setting.secret && env[name];
    return file ? [[name, file]] : [];
  });
  return new Map(files);
}

/** Returns the option that gives the setting, or else its variable. */
const writtenAs = ({ env, option = env }: Setting<unknown>, overrides: Environment): string =>
  overrides[env] ? option : env;

/** Prints one line per setting; secrets appear as `[set]`. */
export function renderConfig(config: Config): string {
  const values: Readonly<Record<string, Config[keyof Config]>> = config;
  const lines = settings().map(([name, { env, secret }]) => {
    const value = values[name];
    // Values other than lists and plain values occur only in secrets.
    const text = typeof value === "object" && !Array.isArray(value) ? "" : String(value ?? "");
    return `${env}=${value && (secret || text.includes("\n")) ? "[set]" : text}`;
  });
  return `${lines.join("\n")}\n`;
}

const mayComeFromFile = ({ secret, hasFile }: Setting<unknown>): boolean =>
  secret === true || hasFile === true;

/** Returns the text of a setting; null if it has none. */
function read(
  setting: Setting<unknown>,
  env: Environment,
  overrides: Environment,
  faults: string[],
): string | null {
  const { env: name, default: fallback } = setting;
  const given = overrides[name] || env[name];
  const file = mayComeFromFile(setting) && env[`${name}_FILE`];
  if (!file || overrides[name]) return given || fallback;
  if (given) {
    faults.push(`${name} and ${name}_FILE are both set: unset one of them`);
    return null;
  }
  try {
    return readFileSync(file, "utf8").trimEnd();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    faults.push(
      `${name}_FILE: cannot read ${show(file)} (${code}): name a file that this process may read`,
    );
    return null;
  }
}

function parse(setting: Setting<unknown>, text: string, name: string, faults: string[]): unknown {
  const value = setting.parse(text);
  // Where a certificate belongs, a private key is an easy mistake.
  const shown = mayComeFromFile(setting) ? "the value given" : show(withoutCredentials(text));
  const isPath = mayComeFromFile(setting) && /^\.{0,2}\//.test(text);
  const advice = isPath ? `; the path of a file belongs in ${setting.env}_FILE` : "";
  if (value === undefined) faults.push(`${name}: ${shown} is not ${setting.allowed}${advice}`);
  return value;
}

/** Hides what may be secret in URLs. The password of a malformed one may contain any character. */
const withoutCredentials = (text: string): string =>
  text.replace(/\/\/.*@/s, "//[redacted]@").replace(/(\/\/.*?[?#]).+/s, "$1[redacted]");

function unknownVariables(env: Environment): string[] {
  const known = settings().flatMap(([, setting]) =>
    mayComeFromFile(setting) ? [setting.env, `${setting.env}_FILE`] : [setting.env],
  );
  const unknown = Object.keys(env).filter(
    (name) => name.startsWith(PREFIX) && !known.includes(name),
  );
  return unknown.map((name) => {
    const completed = known.find((setting) => setting.startsWith(name));
    const ending = known.filter((setting) => setting.endsWith(name.slice(PREFIX.length - 1)));
    const nearest = completed ?? closest(name, ending.length > 0 ? ending : known);
    return `${name} is not a setting: did you mean ${nearest}?`;
  });
}

function contradictions(config: Config, rolesName: string): string[] {
  const { roles, natsUrls, databaseUrl, databaseCa, location, locationKeys, masterKey } = config;
  const { agentConcurrency, agentThreads } = config;
  const faults = databaseUrl ? databaseContradictions(databaseUrl, databaseCa) : [];
  if (agentConcurrency < agentThreads)
    faults.push(
      `SONDE_AGENT_CONCURRENCY: ${agentConcurrency} leaves some of the ${agentThreads} agents of SONDE_AGENT_THREADS without a call: set at least ${agentThreads}`,
    );
  const missing = ROLES.filter((role) => !roles.includes(role));
  if (missing.length > 0 && !natsUrls)
    faults.push(
      `${rolesName}: ${show(roles.join(","))} leaves ${missing.join(", ")} to other processes: set SONDE_NATS_URL (the in-process bus cannot reach them)`,
    );
  if (!isHub(config) && natsUrls && !locationKeys && !masterKey)
    faults.push(
      `${rolesName}: ${show(roles.join(","))} needs the key of its location: set SONDE_LOCATION_KEY to the one that \`sonde locations env ${location}\` prints on the hub`,
    );
  const missingHub = HUB_ROLES.filter((role) => missing.includes(role));
  const isSplitHub = missingHub.length > 0 && missingHub.length < HUB_ROLES.length;
  if (isSplitHub && !databaseUrl)
    faults.push(
      `${rolesName}: ${show(roles.join(","))} leaves ${missingHub.join(", ")} to other processes: set SONDE_DATABASE_URL (the embedded database serves one process)`,
    );
  faults.push(...natsContradictions(config));
  return faults;
}

function natsContradictions(config: Config): string[] {
  const { natsUrls = [], natsCredentials, natsNkey, natsCert, natsKey } = config;
  const faults: string[] = [];
  if (natsNkey && natsCredentials)
    faults.push("SONDE_NATS_NKEY and SONDE_NATS_CREDENTIALS both authenticate: set one of them");
  if (natsNkey && natsUrls.some((url) => new URL(url).username !== ""))
    faults.push(
      "SONDE_NATS_NKEY and the user in SONDE_NATS_URL both authenticate: set one of them",
    );
  if (Boolean(natsCert) !== Boolean(natsKey))
    faults.push("SONDE_NATS_CERT and SONDE_NATS_KEY belong together: set both or none");
  if (natsCert && natsKey && !isUsable({ cert: natsCert, key: natsKey }))
    faults.push("SONDE_NATS_KEY is not the unencrypted private key of SONDE_NATS_CERT");
  return faults;
}

function databaseContradictions(databaseUrl: string, ca: string | undefined): string[] {
  const { searchParams } = new URL(databaseUrl);
  for (const name of searchParams.keys())
    if (/^ssl/i.test(name) && !SSL_PARAMETERS.some((known) => known === name))
      return [
        `SONDE_DATABASE_URL: parameter ${show(name)} is not one of ${SSL_PARAMETERS.join(", ")}`,
      ];
  const mode = searchParams.get("sslmode");
  if (mode === null) return [];
  if (!SSL_MODES.some((known) => known === mode))
    return [`SONDE_DATABASE_URL: sslmode ${show(mode)} is not one of ${SSL_MODES.join(", ")}`];
  const verifies = mode !== "disable" && mode !== "no-verify";
  return ca !== undefined && !verifies
    ? [
        `SONDE_DATABASE_URL: sslmode ${show(mode)} verifies nothing, though SONDE_DATABASE_CA is set: use verify-full`,
      ]
    : [];
}
