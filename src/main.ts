// The command line: reads the arguments and the configuration, and does what was asked.
import { ADMINISTRATION, administer } from "./commands/administer.ts";
import { commandOf, parse, refuseForeignOptions } from "./commands/arguments.ts";
import { loadConfig, readEnvironment, renderConfig } from "./config/config.ts";
import { systemClock } from "./runtime/clock.ts";
import { listenForStop } from "./commands/stop-signal.ts";
import { VERSION } from "./version.ts";

const USAGE = `sonde ${VERSION}: watches APIs from many places

  sonde serve [--roles api,scheduler,agent,aggregator] [--demo]
                                runs the roles until a signal ends them
  sonde migrate                 brings the database schema up to date
  sonde keys create [--level VIEWER|EDITOR|OWNER] [--owner NAME] [--org NAME]
  sonde keys list
  sonde keys revoke ID
  sonde keys rotate-master      encrypts everything anew: see docs/security.md
  sonde locations add ID [--label TEXT] [--region TEXT]
  sonde locations list
  sonde locations env ID        what an agent of the location needs
  sonde audit list [--since TIME] [--owner NAME] [--limit N]
  sonde config print            the settings in force, without secrets

Settings are environment variables, SONDE_*: see docs/configuration.md.
`;

const print = (text: string): void => void process.stdout.write(text);

async function run(args: string[]): Promise<void> {
  const { values, positionals } = parse(args);
  if (values.version) return print(`${VERSION}\n`);
  if (values.help || positionals.length === 0) return print(USAGE);
  const { command, words } = commandOf(positionals);
  refuseForeignOptions(command, values);
  const config = loadConfig(readEnvironment(), { SONDE_ROLES: values.roles });
  if (command === "serve") {
    const stop = listenForStop(systemClock);
    // Everything that a service is made of: the other commands do without it, in half the time.
    const { serve } = await import("./commands/serve.ts");
    return serve({ config, demo: values.demo ?? false, print, stop });
  }
  if (command === "config print") return print(renderConfig(config));
  const work = ADMINISTRATION[command];
  if (work) return administer(work, { words, values }, { config, print });
  throw new Error(`there is no command '${positionals.join(" ")}'\n\n${USAGE}`);
}

/**
 * Rejects where something that was printed cannot be written; that its reader has gone is fine: `…
 * | head`.
 */
const printed = (): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write("", (cause?: NodeJS.ErrnoException | null) => {
      if (!cause || cause.code === "EPIPE") resolve();
      else reject(new Error(`cannot write to stdout (${cause.message})`));
    });
  });

process.stdout.on("error", () => undefined); // `printed` tells it
try {
  await run(process.argv.slice(2));
  await printed();
  process.exitCode = 0;
} catch (cause) {
  process.stderr.write(`sonde: ${cause instanceof Error ? cause.message : String(cause)}\n`);
  process.exitCode = 1;
}
process.exit(); // a server that does not answer would keep it up, however much is closed
