// The store of a command, and its entries in the audit trail.
import { auditLocally } from "../compose/local-audit.ts";
import type { LocalChange } from "../compose/local-audit.ts";
import { databaseFileOf } from "../compose/store.ts";
import { isHub } from "../config/config.ts";
import type { Config } from "../config/config.ts";
import { existingDataDir, isMissing, openDataDir } from "../runtime/data-dir.ts";
import type { Store } from "../store/store.ts";
import { say } from "./command.ts";
import { existingDatabaseIn } from "./database-file.ts";

/** The actor of commands in the audit trail. */
export const ACTOR = "command line";

/** Adds an audit entry for a command. */
export const audit = (store: Store, change: LocalChange): Promise<void> =>
  auditLocally(store, ACTOR, change);

/**
 * Opens the configured store, which migrates its schema unless SONDE_MIGRATE is off, and closes it
 * when the work is done. Rejects if the data folder has no database.
 */
export async function withStore(
  config: Config,
  work: (store: Store) => Promise<void>,
): Promise<void> {
  if (isEmbedded(config)) existingDatabaseIn(config);
  await withNewStore(config, work);
}

const isEmbedded = (config: Config): boolean => !config.databaseUrl && isHub(config);

/**
 * Like `withStore`, but creates a missing database, and says so: for commands that may come before
 * the first start.
 */
export async function withNewStore(
  config: Config,
  work: (store: Store) => Promise<void>,
): Promise<void> {
  // Loaded here: commands without a store start in half the time.
  const { openConfiguredStore } = await import("../compose/store.ts");
  const { createLogger } = await import("../runtime/logger.ts");
  const file = databaseFileOf(existingDataDir(config.dataDir));
  const isCreated = isEmbedded(config) && isMissing(file);
  const store = await openConfiguredStore(
    config,
    openDataDir(config.dataDir),
    createLogger("silent"),
    {
      usesSecrets: false,
      isPatient: true,
      onMigrated: (schema) =>
        say(`the database now has schema ${schema}: an older Sonde no longer starts on it`),
    },
  );
  if (isCreated)
    say(
      `created the database ${file}: if the service is already running, set SONDE_DATA_DIR to its folder`,
    );
  try {
    await work(store);
  } finally {
    await store.close();
  }
}
