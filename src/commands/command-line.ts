// The command line: lists the commands, and runs one.
import { setTimeout as sleep } from "node:timers/promises";
import { Command, CommanderError } from "commander";
import { loadConfig, readEnvironment } from "../config/config.ts";
import type { Environment } from "../config/config.ts";
import { VERSION } from "../version.ts";
import { addAgentCommands } from "./agents.ts";
import { addAuditCommands } from "./audit.ts";
import { addBackupCommand, addRestoreCommand, addTransferCommand } from "./backups.ts";
import { say } from "./command.ts";
import type { Context } from "./command.ts";
import { addCompletionCommand } from "./completion.ts";
import { addConfigCommands } from "./configuration.ts";
import { addDoctorCommand } from "./doctor.ts";
import { addEnvironmentCommands } from "./environment.ts";
import { addHealthCommand } from "./health.ts";
import { addInsightCommands } from "./insights.ts";
import { addKeyCommands } from "./keys.ts";
import { addLocationCommands } from "./locations.ts";
import { addMigrateCommand } from "./migrate.ts";
import { addResourceCommands } from "./resources.ts";
import { addResultCommands } from "./results.ts";
import { addRetentionCommands } from "./retention.ts";
import { addRunCommand } from "./run.ts";
import { addServeCommand } from "./serve.ts";
import { addSimulateCommand } from "./simulate.ts";
import { addStatCommands } from "./stats.ts";
import { addStatusCommand } from "./status.ts";
import { usageError } from "./usage-error.ts";

/** Adds a command to the program. The commands of a group appear under its heading in the help. */
type AddCommand = (program: Command, context: Context) => void;

const GROUPS: Readonly<Record<string, readonly AddCommand[]>> = {
  "Use it, over the API with a key:": [
    addRunCommand,
    addResourceCommands,
    addEnvironmentCommands,
    addResultCommands,
    addStatCommands,
    addInsightCommands,
  ],
  "Run it:": [
    addServeCommand,
    addHealthCommand,
    addStatusCommand,
    addDoctorCommand,
    addConfigCommands,
  ],
  "Administer it, on the hub with its settings:": [
    addKeyCommands,
    addLocationCommands,
    addAgentCommands,
    addAuditCommands,
    addMigrateCommand,
    addRetentionCommands,
    addSimulateCommand,
    addBackupCommand,
    addRestoreCommand,
    addTransferCommand,
  ],
};

const AFTER_HELP = `
\`sonde COMMAND --help\` explains a command and gives examples.
Settings are environment variables, SONDE_*: see docs/configuration.md.`;

function createProgram(context: Context): Command {
  const program = new Command("sonde")
    .description("Monitors HTTP APIs from many locations.")
    .usage("COMMAND [OPTIONS]")
    .version(VERSION, "--version", "print the version")
    .helpOption("-h, --help", "print this help")
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .configureOutput({ writeOut: (text) => context.print(text), writeErr: () => undefined })
    .addHelpText("after", AFTER_HELP);
  for (const [heading, commands] of Object.entries(GROUPS)) {
    program.commandsGroup(heading);
    for (const addTo of commands) addTo(program, context);
  }
  program.commandsGroup("In your shell:");
  finish(program);
  return program;
}

/** Makes the command and all below it throw usage errors in our words, without a `help` command. */
function finish(command: Command): void {
  command.helpCommand(false).exitOverride((end) => {
    throw end.exitCode === 0 ? end : usageError(command, end);
  });
  for (const each of command.commands) finish(each);
}

/** Drops a request for help about a command that does not exist: the parser rejects its name. */
function withKnownHelp(program: Command, words: string[]): string[] {
  let command = program;
  for (const word of words) {
    if (word.startsWith("-") || command.commands.length === 0) return words;
    const found = command.commands.find((each) => each.name() === word);
    if (!found) return words.filter((each) => each !== "--help" && each !== "-h");
    command = found;
  }
  return words;
}

/**
 * Resolves to the exit code once the command's work is done; its output may not be written yet.
 * Rejects with one line for the user.
 */
export async function runCommand(
  args: string[],
  environment: Environment,
  print: (text: string) => void,
): Promise<number> {
  const config: Context["config"] = (overrides) => loadConfig(environment, overrides);
  let code = 0;
  const exitWith = (given: number): void => void (code = given);
  const context = { config, environment, print, exitWith };
  const program = createProgram(context);
  await addCompletionCommand(program, context, args);
  finish(program); // again, for the commands of completion
  if (args.length === 0) program.outputHelp();
  if (args.length === 0) return code;
  const words = args[0] === "help" ? [...args.slice(1), "--help"] : args;
  try {
    await program.parseAsync(withKnownHelp(program, words), { from: "user" });
  } catch (cause) {
    const isHelpOrVersion = cause instanceof CommanderError && cause.exitCode === 0;
    if (!isHelpOrVersion) throw cause;
  }
  return code;
}

/**
 * Resolves when everything printed has been written, or the reader has gone: `… | head`, or a
 * terminal that was closed.
 */
const flushed = (): Promise<void> =>
  new Promise((resolve, reject) => {
    const gone = process.stdout.isTTY ? "EIO" : "EPIPE";
    process.stdout.write("", (cause?: NodeJS.ErrnoException | null) => {
      if (!cause || cause.code === gone) resolve();
      else reject(new Error(`cannot write to stdout (${cause.message})`));
    });
  });

/**
 * Resolves when pino has written its background output: lines left at the process's exit would come
 * before it. Waits half a second at most.
 */
async function logWritten(): Promise<void> {
  const isWriting = (): boolean => process.getActiveResourcesInfo().includes("FSReqCallback");
  for (let left = 500; left > 0 && isWriting(); left -= 10) await sleep(10);
}

/** Runs the command that the arguments name. Sets the exit code; never rejects. */
export async function runCommandLine(args: string[]): Promise<void> {
  process.stdout.on("error", () => undefined); // `flushed` reports it
  process.stderr.on("error", () => undefined); // nobody reads on
  try {
    const print = (text: string): void => void process.stdout.write(text);
    const code = await runCommand(args, readEnvironment(), print);
    await flushed();
    process.exitCode = code;
  } catch (cause) {
    say(`sonde: ${cause instanceof Error ? cause.message : String(cause)}`);
    process.exitCode = 1;
  }
  await logWritten();
}
