// `sonde migrate`: migrates the database schema, and prints the applied migrations.
import type { Command } from "commander";
import { openDataDir } from "../runtime/data-dir.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";

export function addMigrateCommand(program: Command, context: Context): void {
  program
    .command("migrate")
    .summary("Migrate the database schema.")
    .description(
      "Migrate the database schema. The service does so at startup unless SONDE_MIGRATE is off.",
    )
    .addHelpText("after", examples("sonde migrate"))
    .action(() => migrateSchema(context));
}

/** Migrates also with SONDE_MIGRATE=off, and while the previous version serves. */
async function migrateSchema(context: Context): Promise<void> {
  const config = context.config();
  // Loaded here: commands without a store start in half the time.
  const { migrateConfiguredStore } = await import("../compose/store.ts");
  const applied = await migrateConfiguredStore(config, openDataDir(config.dataDir));
  for (const name of applied) context.print(`applied ${name}\n`);
  if (applied.length === 0) context.print("nothing to do: the database schema is up to date\n");
}
