// The command line: parses the arguments, loads the configuration and runs the command.
import { drainAgent, listAgents } from "./agents.ts";
import { listAudit } from "./audit.ts";
import { findCommand, parse, refuseForeign } from "./command.ts";
import type { Command } from "./command.ts";
import { checkHealth } from "./health.ts";
import { computeInsights } from "./insights.ts";
import { createKey, listKeys, revokeKey, rotateMaster } from "./keys.ts";
import { printAgentEnvironment, writeNatsConfig } from "./location-files.ts";
import { addLocation, listLocations, removeLocation, rotateLocationKey } from "./locations.ts";
import { migrateSchema } from "./migrate.ts";
import { runRetention } from "./retention.ts";
import { listenForStop } from "./stop-signal.ts";
import { loadConfig, readEnvironment, renderConfig } from "../config/config.ts";
import type { Environment } from "../config/config.ts";
import { systemClock } from "../runtime/clock.ts";
import { VERSION } from "../version.ts";

const USAGE = `sonde ${VERSION}: monitors HTTP APIs from many locations

  sonde serve [--roles api,scheduler,agent,aggregator] [--demo]
                                run the roles until a signal ends them
  sonde health                  ask the process with these settings whether it is ready
  sonde migrate                 bring the database schema up to date
  sonde keys create [--level VIEWER|EDITOR|OWNER] [--owner NAME [--org NAME]]
  sonde keys list
  sonde keys revoke ID
  sonde keys rotate-master      re-encrypt all secrets: see docs/security.md
  sonde locations add ID [--label TEXT] [--region TEXT] [--bundle FILE.tar]
                                and print the environment of its agents, or write all that a machine
                                there needs
  sonde locations list
  sonde locations env ID [--out FOLDER] [--bundle FILE.tar]
                                print the environment of the location's agents, or write it as files
  sonde locations nats-config [--out FOLDER]
                                print the accounts of NATS, or write them and the hub's user
  sonde locations rotate ID [--grace HOURS]
                                give the location new keys: see docs/regions.md
  sonde locations remove ID
  sonde agents list [--json]    show each agent: its state, version, load, spool and clock
  sonde agents drain ID [--undo]
                                have an agent take no more runs, and stay
  sonde audit list [--since TIME] [--owner NAME [--org NAME]] [--limit N]
  sonde insights compute --from TIME --to TIME [--call ID]
                                compute the reports of closed weeks and months again
  sonde stats rebuild [--from TIME] [--to TIME] [--call ID]
                                repair statistics that differ from their results
  sonde retention run [--dry-run]
                                remove what has expired, as the service does hourly
  sonde simulate --calls N --locations N --weeks N [--frequency MINUTES] [--seed N]
      [--owner NAME [--org NAME]]
                                fill the store with made-up results: see docs/simulation.md
  sonde config print            print the effective settings, without secrets

Settings are environment variables, SONDE_*: see docs/configuration.md.
`;

const COMMANDS: Readonly<Record<string, Command>> = {
  serve: {
    options: ["roles", "demo"],
    async run(input) {
      const stop = listenForStop(systemClock);
      // The other commands start in half the time without the modules of the service.
      const { serve } = await import("./serve.ts");
      await serve(input, stop);
    },
  },
  health: checkHealth,
  migrate: migrateSchema,
  "keys create": createKey,
  "keys list": listKeys,
  "keys revoke": revokeKey,
  "keys rotate-master": rotateMaster,
  "locations add": addLocation,
  "locations list": listLocations,
  "locations env": printAgentEnvironment,
  "locations nats-config": writeNatsConfig,
  "locations rotate": rotateLocationKey,
  "locations remove": removeLocation,
  "agents list": listAgents,
  "agents drain": drainAgent,
  "audit list": listAudit,
  "insights compute": computeInsights,
  "stats rebuild": {
    options: ["from", "to", "call"],
    async run(input) {
      // Likewise.
      const { rebuild } = await import("./stats.ts");
      await rebuild(input);
    },
  },
  "retention run": runRetention,
  simulate: {
    options: ["calls", "locations", "weeks", "seed", "frequency", "owner", "org"],
    async run(input) {
      // Likewise.
      const { simulate } = await import("./simulate.ts");
      await simulate(input);
    },
  },
  "config print": {
    run: async ({ config, print }) => print(renderConfig(config)),
  },
};

/** Throws the one line that the user reads. Ends with the command's work, not with its output. */
export async function runCommand(
  args: string[],
  environment: Environment,
  print: (text: string) => void,
): Promise<void> {
  const { values, positionals } = parse(args);
  if (values.version) return print(`${VERSION}\n`);
  if (values.help || positionals.length === 0) return print(USAGE);
  const found = findCommand(COMMANDS, positionals);
  if (!found) throw new Error(`unknown command '${positionals.join(" ")}'\n\n${USAGE}`);
  refuseForeign(found, values);
  const config = loadConfig(environment, { SONDE_ROLES: values.roles });
  await found.command.run({ config, values, id: found.rest[0], print });
}

/**
 * Resolves when everything printed has been written; a reader that has gone (`… | head`) is fine.
 */
const flushed = (): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write("", (cause?: NodeJS.ErrnoException | null) => {
      if (!cause || cause.code === "EPIPE") resolve();
      else reject(new Error(`cannot write to stdout (${cause.message})`));
    });
  });

/** Runs the command that the arguments name. Sets the exit code; never rejects. */
export async function runCommandLine(args: string[]): Promise<void> {
  process.stdout.on("error", () => undefined); // `flushed` reports it
  try {
    await runCommand(args, readEnvironment(), (text) => void process.stdout.write(text));
    await flushed();
    process.exitCode = 0;
  } catch (cause) {
    process.stderr.write(`sonde: ${cause instanceof Error ? cause.message : String(cause)}\n`);
    process.exitCode = 1;
  }
}
