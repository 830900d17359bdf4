// Options that several commands have, and the values of options: owners, times, spans, numbers.
import type { Command } from "commander";
import type { Actor } from "../model/access.ts";
import { invalid } from "../model/errors.ts";
import { parseInstant } from "../model/instant.ts";
import type { TimeSpan } from "../model/stat-check.ts";
import { show } from "../model/validate.ts";

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
