// The configured store, and the master key that encrypts its secrets.
import { isHub } from "../config/config.ts";
import type { Config } from "../config/config.ts";
import { invalid } from "../model/errors.ts";
import { systemClock } from "../runtime/clock.ts";
import type { RetentionDays } from "../model/retention.ts";
import type { DataDir } from "../runtime/data-dir.ts";
import type { Logger } from "../runtime/logger.ts";
import { createSealer } from "../runtime/sealer.ts";
import type { Sealer } from "../runtime/sealer.ts";
import type { StoreOptions } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";

export interface OpenOptions extends Pick<
  StoreOptions,
  "usesSecrets" | "metrics" | "onStored" | "onMigrated"
> {
  /** No statement timeout: for commands, not for the service. */
  readonly isPatient?: boolean;
}

export async function openConfiguredStore(
  config: Config,
  dataDir: DataDir,
  log: Logger,
  { usesSecrets = true, isPatient = false, ...observers }: OpenOptions = {},
): Promise<Store> {
  const { openStore } = await import("../store/open-store.ts");
  return openStore({
    location: databaseLocationOf(config, dataDir, isPatient ? 0 : config.databaseTimeout),
    clock: systemClock,
    sealer: sealerOf(config, masterKeyOf(config, dataDir)),
    onMigrated: (schema) => log.info({ schema }, "database schema migrated"),
    ...observers,
    usesSecrets,
    migrates: config.migrate === "on",
    onConnectionLost: (err) => log.warn({ err }, "database connection lost"),
    onUnreadable: ({ kind, id, unreadable: err }) =>
      log.warn({ err, kind, id }, "cannot decrypt secrets"),
  });
}

/** Migrates the schema of the configured store; returns the names of the applied migrations. */
export async function migrateConfiguredStore(config: Config, dataDir: DataDir): Promise<string[]> {
  const { migrateStore } = await import("../store/open-store.ts");
  return migrateStore({ location: databaseLocationOf(config, dataDir, 0), clock: systemClock });
}

/** Throws on a machine that runs only agents, unless it has the hub's database. */
export function databaseLocationOf(
  config: Config,
  dataDir: Pick<DataDir, "path">,
  timeoutSeconds: number,
): StoreOptions["location"] {
  const { databaseUrl: url, databaseCa: ca, databaseConnections: maxConnections } = config;
  if (url) return { url, ca, maxConnections, timeoutMs: timeoutSeconds * 1000 };
  if (isHub(config)) return { file: databaseFileOf(dataDir) };
  throw invalid(
    "a machine that runs only agents (SONDE_ROLES) has no database: run this on the hub, with its settings",
  );
}

/** The file of the embedded database. */
export const databaseFileOf = (dataDir: Pick<DataDir, "path">): string => dataDir.path("sonde.db");

/** How long the store keeps each kind of data. */
export const retentionOf = (config: Config): RetentionDays => ({
  details: config.retentionDetails,
  raw: config.retentionRaw,
  hours: config.retentionHours,
  audit: config.retentionAudit,
});

/** The master key's file in the data folder. */
export const MASTER_KEY_FILE = "master-key";

/** The configured key, or the one in the data folder, generated on first use. */
export const masterKeyOf = (config: Config, dataDir: DataDir): Uint8Array =>
  config.masterKey ?? dataDir.key(MASTER_KEY_FILE);

/** Returns a sealer with the existing master keys; undefined if there is none yet. */
export function existingSealerOf(
  config: Config,
  dataDir: Pick<DataDir, "existingKey">,
): Sealer | undefined {
  const current = config.masterKey ?? dataDir.existingKey(MASTER_KEY_FILE);
  return current && sealerOf(config, current);
}

/** Returns a sealer with this master key and the configured former ones. */
export const sealerOf = ({ masterKeysOld: old }: Config, current: Uint8Array): Sealer =>
  createSealer({ current, ...(old && { old }) });
