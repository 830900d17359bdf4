// The commands on the database as a whole: `sonde backup`, `sonde restore` and `sonde transfer`.
// Their modules are loaded only when they run, so that other commands start sooner.
import type { Command } from "commander";
import type { BackupInput } from "./backup.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";
import type { RestoreInput } from "./restore.ts";
import type { TransferInput } from "./transfer.ts";

export function addBackupCommand(program: Command, context: Context): void {
  program
    .command("backup")
    .summary("Back up the embedded database while the service runs.")
    .description(
      "Back up the embedded database to a file while the service runs, and check the copy: see docs/backup.md.",
    )
    .argument("<file>", "the backup")
    .option("--force", "overwrite FILE")
    .option("--with-key", "also write the master key, to FILE.master-key")
    .addHelpText(
      "after",
      examples(
        "sonde backup /backups/sonde-$(date +%F).db",
        "sonde backup /backups/latest.db --force",
      ),
    )
    .action(async (file: string, options: Omit<BackupInput, "file">) => {
      const { backUpStore } = await import("./backup.ts");
      await backUpStore(context, { ...options, file });
    });
}

export function addRestoreCommand(program: Command, context: Context): void {
  program
    .command("restore")
    .summary("Replace the embedded database with a backup.")
    .description(
      "Replace the embedded database with a backup while the service is stopped: see docs/backup.md.",
    )
    .argument("<file>", "the backup")
    .option("--force", "replace an existing database; it is kept under another name")
    .addHelpText("after", examples("sonde restore /backups/sonde-2026-11-22.db"))
    .action(async (file: string, options: Omit<RestoreInput, "file">) => {
      const { restoreStore } = await import("./restore.ts");
      await restoreStore(context, { ...options, file });
    });
}

export function addTransferCommand(program: Command, context: Context): void {
  program
    .command("transfer")
    .summary("Move everything from the embedded database to PostgreSQL.")
    .description(
      "Move everything from the embedded database to an empty PostgreSQL database while the service is stopped: see docs/backup.md.",
    )
    .option("--to <url>", "postgres:// URL (default: SONDE_DATABASE_URL)")
    .addHelpText(
      "after",
      examples(
        "sonde transfer --to postgres://sonde@db.example.com/sonde",
        "SONDE_DATABASE_URL_FILE=/run/secrets/database-url sonde transfer",
      ),
    )
    .action(async (options: TransferInput) => {
      const { transferStore } = await import("./transfer.ts");
      await transferStore(context, options);
    });
}
