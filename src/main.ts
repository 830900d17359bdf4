// The command line: reads the arguments and the configuration, and does what was asked.
import { parseArgs } from "node:util";
import { ADMINISTRATION, administer } from "./commands/administer.ts";
import { serve } from "./commands/serve.ts";
import { loadConfig, readEnvironment, renderConfig } from "./config.ts";
import { VERSION } from "./version.ts";

const USAGE = `sonde ${VERSION}: watches APIs from many places

  sonde serve [--roles api,scheduler,agent,aggregator] [--demo]
                                runs the roles until a signal ends them
  sonde migrate                 brings the database schema up to date
  sonde keys create [--level VIEWER|EDITOR|OWNER] [--owner NAME] [--org NAME]
  sonde keys list
  sonde keys revoke ID
  sonde locations add ID [--label TEXT] [--region TEXT]
  sonde locations list
  sonde config print            the settings in force, without secrets

Settings are environment variables, SONDE_*: see docs/configuration.md.
`;

const OPTIONS = {
  roles: { type: "string" },
  demo: { type: "boolean" },
  level: { type: "string" },
  owner: { type: "string" },
  org: { type: "string" },
  label: { type: "string" },
  region: { type: "string" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean" },
} as const;

/** Which options each command takes. */
const TAKES: Readonly<Record<string, readonly (keyof typeof OPTIONS)[]>> = {
  serve: ["roles", "demo"],
  "keys create": ["level", "owner", "org"],
  "locations add": ["label", "region"],
};

type Values = ReturnType<typeof parse>["values"];

export interface ParsedOptions {
  /** What follows the words of the command. */
  readonly words: readonly string[];
  readonly values: Values;
}

function parse(args: string[]) {
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

const print = (text: string): void => void process.stdout.write(text);

async function run(args: string[]): Promise<void> {
  const { values, positionals } = parse(args);
  if (values.version) return print(`${VERSION}\n`);
  if (values.help || positionals.length === 0) return print(USAGE);
  const { command, words } = commandOf(positionals);
  refuseForeignOptions(command, values);
  const config = loadConfig(readEnvironment(), { SONDE_ROLES: values.roles });
  if (command === "serve")
    return serve({ config, demo: values.demo ?? false, print });
  if (command === "config print") return print(renderConfig(config));
  const work = ADMINISTRATION[command];
  if (work) return administer(work, { words, values }, { config, print });
  throw new Error(`there is no command '${positionals.join(" ")}'\n\n${USAGE}`);
}

/** A command is one word or two. */
function commandOf(positionals: readonly string[]): {
  readonly command: string;
  readonly words: readonly string[];
} {
  const [first = "", second = ""] = positionals;
  const single = first === "serve" || first === "migrate";
  const command = single ? first : `${first} ${second}`;
  const words = positionals.slice(single ? 1 : 2);
  const takesWord = command === "keys revoke" || command === "locations add";
  if (words.length > (takesWord ? 1 : 0))
    throw new Error(`${command} does not take '${words.join(" ")}'`);
  return { command, words };
}

function refuseForeignOptions(command: string, values: Values): void {
  const foreign = Object.keys(values).filter(
    (name) => !(TAKES[command] ?? []).some((taken) => taken === name),
  );
  if (foreign.length > 0)
    throw new Error(`${command} does not take --${foreign.join(", --")}`);
}

// What is written is for this user alone: the database holds credentials.
process.umask(0o077);
try {
  await run(process.argv.slice(2));
  process.exitCode = 0;
} catch (error) {
  process.stderr.write(
    `sonde: ${error instanceof Error ? error.message : String(error)}\n`,
  );
  process.exitCode = 1;
}
