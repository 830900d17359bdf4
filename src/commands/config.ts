// `sonde config print`: shows the effective configuration, without secrets.
import { renderConfig } from "../config/config.ts";
import type { Command } from "./command.ts";

export const printConfig: Command = {
  run: async ({ config, print }) => print(renderConfig(config)),
};
