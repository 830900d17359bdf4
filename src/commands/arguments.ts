// The arguments of the command line: which options there are, and which command takes them.
import { parseArgs } from "node:util";

const OPTIONS = {
  roles: { type: "string" },
  demo: { type: "boolean" },
  level: { type: "string" },
  owner: { type: "string" },
  org: { type: "string" },
  label: { type: "string" },
  region: { type: "string" },
  since: { type: "string" },
  limit: { type: "string" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean" },
} as const;

/** Which options each command takes. */
const TAKES: Readonly<Record<string, readonly (keyof typeof OPTIONS)[]>> = {
  serve: ["roles", "demo"],
  "keys create": ["level", "owner", "org"],
  "locations add": ["label", "region"],
  "audit list": ["since", "owner", "limit"],
};

const TAKE_WORD = new Set(["keys revoke", "locations add", "locations env"]);

type Values = ReturnType<typeof parse>["values"];

export interface ParsedOptions {
  /** What follows the words of the command. */
  readonly words: readonly string[];
  readonly values: Values;
}

export function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (cause) {
    // What follows the first sentence is about options that are meant as words.
    const [fault] = (cause as Error).message.split(". ");
    throw new Error(`${fault}; \`sonde --help\` shows what there is`, {
      cause,
    });
  }
}

/** A command is one word or two. */
export function commandOf(positionals: readonly string[]): {
  readonly command: string;
  readonly words: readonly string[];
} {
  const [first = "", second = ""] = positionals;
  const single = first === "serve" || first === "migrate";
  const command = single ? first : `${first} ${second}`;
  const words = positionals.slice(single ? 1 : 2);
  if (words.length > (TAKE_WORD.has(command) ? 1 : 0))
    throw new Error(`${command} does not take '${words.join(" ")}'`);
  return { command, words };
}

export function refuseForeignOptions(command: string, values: Values): void {
  const foreign = Object.keys(values).filter(
    (name) => !(TAKES[command] ?? []).some((taken) => taken === name),
  );
  if (foreign.length > 0) throw new Error(`${command} does not take --${foreign.join(", --")}`);
}

// What is written is for this user alone: the database holds credentials.
process.umask(0o077);
