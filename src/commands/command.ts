// What a command is, how the command line names one, and what commands share: the store, the audit
// trail, and the owner that options name.
import { parseArgs } from "node:util";
import type { Config } from "../config/config.ts";
import type { Actor } from "../model/access.ts";
import { invalid } from "../model/errors.ts";
import { parseInstant } from "../model/instant.ts";
import type { TimeSpan } from "../model/stat-check.ts";
import { show } from "../model/validate.ts";
import { openDataDir } from "../runtime/data-dir.ts";
import { createLogger } from "../runtime/logger.ts";
import type { AuditEntry } from "../store/records.ts";
import type { Store } from "../store/store.ts";

const OPTIONS = {
  roles: { type: "string" },
  demo: { type: "boolean" },
  level: { type: "string" },
  owner: { type: "string" },
  org: { type: "string" },
  label: { type: "string" },
  region: { type: "string" },
  out: { type: "string" },
  grace: { type: "string" },
  bundle: { type: "string" },
  since: { type: "string" },
  limit: { type: "string" },
  from: { type: "string" },
  to: { type: "string" },
  call: { type: "string" },
  "dry-run": { type: "boolean" },
  calls: { type: "string" },
  locations: { type: "string" },
  weeks: { type: "string" },
  seed: { type: "string" },
  frequency: { type: "string" },
  json: { type: "boolean" },
  undo: { type: "boolean" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean" },
} as const;

type Values = ReturnType<typeof parse>["values"];

export interface CommandInput {
  readonly config: Config;
  readonly values: Values;
  /** The argument after the command's words, if any. */
  readonly id: string | undefined;
  /** Writes to stdout; the service logs separately. */
  readonly print: (text: string) => void;
}

export interface Command {
  readonly options?: readonly (keyof typeof OPTIONS)[];
  /** Whether an id may follow. */
  readonly takesId?: true;
  run(input: CommandInput): Promise<void>;
}

/** How the audit trail names the author of what a command does. */
export const ACTOR = "command line";

export function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (cause) {
    // Node goes on to explain how to pass an option as a positional argument.
    const [fault] = (cause as Error).message.split(". ");
    throw new Error(`${fault}; see \`sonde --help\``, { cause });
  }
}

/** The command of one word or two that `positionals` begin with; undefined if there is none. */
export function findCommand(
  commands: Readonly<Record<string, Command>>,
  positionals: readonly string[],
) {
  for (const words of [1, 2]) {
    const name = positionals.slice(0, words).join(" ");
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (command) return { name, command, rest: positionals.slice(words) };
  }
  return undefined;
}

/** Throws if the command does not take one of the options or arguments. */
export function refuseForeign(
  { name, command, rest }: NonNullable<ReturnType<typeof findCommand>>,
  values: Values,
): void {
  if (rest.length > (command.takesId ? 1 : 0))
    throw new Error(`${name} does not take '${rest.join(" ")}'`);
  const foreign = Object.keys(values).filter(
    (option) => !command.options?.some((taken) => taken === option),
  );
  if (foreign.length > 0) throw new Error(`${name} does not take --${foreign.join(", --")}`);
}

/** Adds an entry to the audit trail for what a command does on nobody's behalf. */
export async function audit(
  store: Store,
  entry: Pick<AuditEntry, "action" | "kind" | "object_id">,
): Promise<void> {
  const nobody = { owner: null, org: null, address: null };
  await store.audit.record({
    time: await store.now(),
    actor: ACTOR,
    ...nobody,
    ...entry,
    fields: [],
  });
}

/** The owner that --owner and --org name, if any. Throws for an organization without an owner. */
export function actorIn({ owner, org }: Values): Actor | undefined {
  if (owner === "" || org === "")
    throw invalid(`--${owner === "" ? "owner" : "org"}: '' is not a name`);
  if (owner !== undefined) return { owner, org: org ?? null };
  if (org === undefined) return undefined;
  throw invalid(`--org ${show(org)} needs --owner: each owner is in one organization, or in none`);
}

/** The time that an option gives, if any. Throws for what is no time. */
export function timeIn(values: Values, option: "since" | "from" | "to"): number | undefined {
  const text = values[option];
  const time = text === undefined ? undefined : parseInstant(text);
  if (text === undefined || time !== undefined) return time;
  throw invalid(`--${option}: ${show(text)} is not an ISO 8601 date or date-time`);
}

/** From --from to --to; everything by default. Throws for what is no time, or no span. */
export function spanIn(values: Values): TimeSpan {
  const from = timeIn(values, "from") ?? 0;
  const to = timeIn(values, "to") ?? Number.MAX_SAFE_INTEGER;
  if (from < to) return { from, to };
  throw invalid(
    `--to: ${show(values.to)} is not after --from ${show(values.from ?? "1970-01-01")}`,
  );
}

/**
 * Opens the configured store, which migrates its schema unless SONDE_MIGRATE is off, and closes it
 * when the work is done.
 */
export async function withStore(
  config: Config,
  work: (store: Store) => Promise<void>,
): Promise<void> {
  // Loaded here, because commands that need no store start in half the time without it.
  const { openConfiguredStore } = await import("../compose/store.ts");
  const store = await openConfiguredStore(
    config,
    openDataDir(config.dataDir),
    createLogger("silent"),
    { usesSecrets: false, isPatient: true },
  );
  try {
    await work(store);
  } finally {
    await store.close();
  }
}
