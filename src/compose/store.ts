// The store that the configuration names, the master key that its secrets are sealed with, and the
// keys made from that.
import type { Config } from "../config/config.ts";
import type { DataDir } from "../runtime/data-dir.ts";
import { createTickSealer } from "../dispatch/seal-tick.ts";
import type { TickSealer } from "../dispatch/seal-tick.ts";
import { systemClock } from "../runtime/clock.ts";
import { locationKeyOf } from "../runtime/location-key.ts";
import type { Logger } from "../runtime/logger.ts";
import { createSealer } from "../runtime/secrets.ts";
import { openStore } from "../store/open-store.ts";
import type { StoreOptions } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";

export const openConfiguredStore = (
  config: Config,
  dataDir: DataDir,
  log: Logger,
  { usesSecrets = true }: Pick<StoreOptions, "usesSecrets"> = {},
): Promise<Store> =>
  openStore({
    location: config.databaseUrl ? { url: config.databaseUrl } : { file: dataDir.path("sonde.db") },
    clock: systemClock,
    sealer: createSealer({
      current: masterKeyOf(config, dataDir),
      ...(config.masterKeysOld && { old: config.masterKeysOld }),
    }),
    usesSecrets,
    onConnectionLost: (err) => log.warn({ err }, "database connection lost"),
    onUnreadable: ({ kind, id, unreadable: err }) =>
      log.warn({ err, kind, id }, "secrets could not be decrypted"),
  });

/**
 * Of the location that this process serves: what its agent opens the credentials in its ticks with,
 * newest first. With `hasMaster`, this process has the master key even where its configuration does
 * not name one.
 */
export function locationKeysOf(
  config: Config,
  dataDir: DataDir,
  { hasMaster }: { readonly hasMaster: boolean },
): readonly Uint8Array[] {
  const masters =
    hasMaster || config.masterKey
      ? [masterKeyOf(config, dataDir), ...(config.masterKeysOld ?? [])]
      : [];
  return config.locationKeys ?? masters.map((master) => locationKeyOf(master, config.location));
}

/** Within the process nothing is sealed. */
export const tickSealerOf = (config: Config, dataDir: DataDir): TickSealer =>
  config.natsUrls
    ? createTickSealer((location) => locationKeyOf(masterKeyOf(config, dataDir), location))
    : async (tick) => tick;

/** Made in the data folder on first use, where the configuration has none. */
export const masterKeyOf = (config: Config, dataDir: DataDir): Uint8Array =>
  config.masterKey ?? dataDir.key("master-key");
