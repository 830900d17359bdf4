// `sonde config`: prints the settings in effect.
import type { Command } from "commander";
import { renderConfig } from "../config/config.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";

export function addConfigCommands(program: Command, context: Context): void {
  const config = program.command("config").description("Show the settings.");
  config
    .command("print")
    .description("Print the settings in effect, one per line; secrets appear as [set].")
    .addHelpText("after", examples("sonde config print", "SONDE_PORT=9000 sonde config print"))
    .action(() => context.print(renderConfig(context.config())));
}
