// `sonde migrate`: brings the database schema up to date, and prints what it applied.
import { openDataDir } from "../runtime/data-dir.ts";
import type { Command } from "./command.ts";

/** Also with SONDE_MIGRATE=off, and while the previous version serves. */
export const migrateSchema: Command = {
  async run({ config, print }) {
    // Loaded here, because commands that need no store start in half the time without it.
    const { migrateConfiguredStore } = await import("../compose/store.ts");
    const applied = await migrateConfiguredStore(config, openDataDir(config.dataDir));
    for (const name of applied) print(`applied ${name}\n`);
    if (applied.length === 0) print("nothing to do: the database schema is up to date\n");
  },
};
