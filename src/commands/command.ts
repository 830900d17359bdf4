// Shared by commands: their context, the store, the audit trail, and the options for owners and
// times.
import type { Command } from "commander";
import type { Config, Environment } from "../config/config.ts";
import type { Actor } from "../model/access.ts";
import { invalid } from "../model/errors.ts";
import { parseInstant } from "../model/instant.ts";
import type { TimeSpan } from "../model/stat-check.ts";
import { show } from "../model/validate.ts";
import { openDataDir } from "../runtime/data-dir.ts";
import type { AuditEntry } from "../model/audit.ts";
import type { Store } from "../store/store.ts";

/** What a command gets besides its own arguments and options. */
export interface Context {
  /**
   * Reads the settings; `overrides` come from the command line. Throws one error that lists every
   * fault.
   */
  readonly config: (overrides?: Environment) => Config;
  /** For a command that works even with invalid settings. */
  readonly environment: Environment;
  /** Writes to stdout; the service logs separately. */
  readonly print: (text: string) => void;
  /** Sets the exit code of a command that has done its work; 0 by default. */
  readonly exitWith: (code: number) => void;
}

/** The actor of commands in the audit trail. */
export const ACTOR = "command line";

/** Formats the examples that end a command's help, for `addHelpText("after", …)`. */
export const examples = (...lines: readonly string[]): string =>
  ["", lines.length === 1 ? "Example:" : "Examples:", ...lines.map((line) => `  ${line}`)].join(
    "\n",
  );

/** Adds an audit entry for a command that acts for no owner. */
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

export interface OwnerOptions {
  readonly owner?: string;
  readonly org?: string;
}

/** Adds --owner and --org, which `actorIn` reads. */
export const addOwnerOptions = (command: Command, meaning: string): Command =>
  command
    .option("--owner <name>", meaning)
    .option("--org <name>", "organization of that owner (default: none)");

/** The owner that --owner and --org name, if any. Throws for an organization without an owner. */
export function actorIn({ owner, org }: OwnerOptions): Actor | undefined {
  if (owner === "" || org === "")
    throw invalid(`--${owner === "" ? "owner" : "org"}: '' is not a name`);
  if (owner !== undefined) return { owner, org: org ?? null };
  if (org === undefined) return undefined;
  throw invalid(`--org ${show(org)} needs --owner: each owner is in one organization, or in none`);
}

/** Parses the value of the option. Throws if it is not a time. */
export const instantOf =
  (option: string) =>
  (text: string): number => {
    const time = parseInstant(text);
    if (time !== undefined) return time;
    throw invalid(`${option}: ${show(text)} is not an ISO 8601 date or date-time`);
  };

/** Parses the value of the option. Throws unless it is a whole number in this range. */
export const wholeNumberOf =
  (option: string, least: number, most: number, unit = "") =>
  (text: string): number => {
    const number = /^\d{1,10}$/.test(text) ? Number(text) : -1;
    if (number >= least && number <= most) return number;
    const what = `a whole number${unit && ` of ${unit}`}`;
    throw invalid(`${option}: ${show(text)} is not ${what} from ${least} to ${most}`);
  };

export interface SpanOptions {
  readonly from?: string;
  readonly to?: string;
}

/**
 * Returns the span from --from to --to; all time by default. Throws if an end is not a time, or the
 * span is empty.
 */
export function spanIn(options: SpanOptions): TimeSpan {
  const from = options.from === undefined ? 0 : instantOf("--from")(options.from);
  const to = options.to === undefined ? Number.MAX_SAFE_INTEGER : instantOf("--to")(options.to);
  if (from < to) return { from, to };
  throw invalid(
    `--to: ${show(options.to)} is not after --from ${show(options.from ?? "1970-01-01")}`,
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
  // Loaded here: commands without a store start in half the time.
  const { openConfiguredStore } = await import("../compose/store.ts");
  const { createLogger } = await import("../runtime/logger.ts");
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
