// `sonde migrate`: brings the database schema up to date.
import { withStore } from "./command.ts";
import type { Command } from "./command.ts";

/** Opening a store migrates it. */
export const migrate: Command = {
  run: ({ config, print }) =>
    withStore(config, async () => print("the database schema is up to date\n")),
};
