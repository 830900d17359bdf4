// The store that the configuration names, with the master key that its secrets are sealed with.
import type { Config } from "./config.ts";
import type { DataDir } from "./data-dir.ts";
import { systemClock } from "./runtime/clock.ts";
import type { Logger } from "./runtime/logger.ts";
import { createSealer } from "./runtime/secrets.ts";
import { openStore } from "./store/open-store.ts";
import type { StoreOptions } from "./store/open-store.ts";
import type { Store } from "./store/store.ts";

export const openConfiguredStore = (
  config: Config,
  dataDir: DataDir,
  log: Logger,
  { usesSecrets = true }: Pick<StoreOptions, "usesSecrets"> = {},
): Promise<Store> =>
  openStore({
    location: config.databaseUrl
      ? { url: config.databaseUrl }
      : { file: dataDir.path("sonde.db") },
    clock: systemClock,
    sealer: createSealer({
      current: masterKeyOf(config, dataDir),
      ...(config.masterKeysOld && { old: config.masterKeysOld }),
    }),
    usesSecrets,
    onConnectionLost: (err) => log.warn({ err }, "database connection lost"),
  });

/** Made in the data folder on first use, where the configuration has none. */
export const masterKeyOf = (config: Config, dataDir: DataDir): Uint8Array =>
  config.masterKey ?? dataDir.key("master-key");
