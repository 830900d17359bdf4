// `sonde health`: asks the process with the same settings whether it is ready. For the health
// checks of container platforms, which have no HTTP client in the image.
import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import { invalid } from "../model/errors.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";
import { reachable } from "./listen-address.ts";

const ANSWER_WITHIN_MS = 4_000;

export function addHealthCommand(program: Command, context: Context): void {
  program
    .command("health")
    .description("Ask the process with these settings whether it is ready.")
    .addHelpText("after", examples("sonde health", "SONDE_OPS_PORT=9465 sonde health"))
    .action(() => checkHealth(context));
}

/** Rejects unless the process is ready. */
async function checkHealth({ config, print }: Context): Promise<void> {
  const url = readinessUrl(config());
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
  const response = await fetch(url, { signal }).catch((cause: Error) => {
    throw new Error(`no answer from ${url} (${reasonOf(cause)}): is \`sonde serve\` running?`, {
      cause,
    });
  });
  const text = (await response.text()).trimEnd();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text}`);
  print("ready\n");
}

/** Throws if the port is not known in advance. */
function readinessUrl({ opsHost, opsPort }: Config): string {
  if (opsPort === 0)
    throw invalid("health needs a fixed port: set SONDE_OPS_PORT to that of `sonde serve`");
  return `http://${reachable(opsHost)}:${opsPort}/readyz`;
}

/** What fetch itself says about a failed connection is always "fetch failed". */
const reasonOf = (error: Error): string =>
  error.cause instanceof Error
    ? ((error.cause as NodeJS.ErrnoException).code ?? error.cause.message)
    : error.message;
