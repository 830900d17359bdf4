// `sonde health`: checks whether the process with the same settings is ready. For health checks of
// container platforms: the image has no HTTP client.
import type { Command } from "commander";
import { invalid } from "../model/errors.ts";
import { askOps } from "../runtime/ops-client.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";

export function addHealthCommand(program: Command, context: Context): void {
  program
    .command("health")
    .description("Check whether the process with these settings is ready.")
    .addHelpText("after", examples("sonde health", "SONDE_OPS_PORT=9465 sonde health"))
    .action(() => checkHealth(context));
}

/** Rejects unless the process is ready. */
async function checkHealth({ config, print }: Context): Promise<void> {
  const settings = config();
  if (settings.opsPort === 0)
    throw invalid("health needs a fixed port: set SONDE_OPS_PORT to that of `sonde serve`");
  const { url, status, text } = await askOps(settings, "/readyz");
  if (status !== 200) throw new Error(`${url} answered ${status}: ${text}`);
  print("ready\n");
}
