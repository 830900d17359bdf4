// What every command gets, how it speaks to people, and how its help ends.
import type { Config, Environment } from "../config/config.ts";

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

/** Writes a line for people to stderr: stdout is for what the command is asked for. */
export const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Formats the examples that end a command's help, for `addHelpText("after", …)`. */
export const examples = (...lines: readonly string[]): string =>
  ["", lines.length === 1 ? "Example:" : "Examples:", ...lines.map((line) => `  ${line}`)].join(
    "\n",
  );
