// The credentials of each location's agents: keys and NATS users, derived from the master key.
import { accountsConfig } from "../bus/nats/accounts.ts";
import { publicKeyOf, userSeedOf } from "../bus/nats/nkey.ts";
import type { Config } from "../config/config.ts";
import { keyVersionsAt } from "../model/location-key.ts";
import type { DataDir } from "../runtime/data-dir.ts";
import { hubNkeyOf, locationKeyOf, locationNkeyOf } from "../runtime/derived-keys.ts";
import type { StoredLocation } from "../store/records.ts";
import { masterKeyOf } from "./store.ts";

export type LocationAccess = ReturnType<typeof createLocationAccess>;

export function createLocationAccess(config: Config, dataDir: DataDir) {
  const master = masterKeyOf(config, dataDir);
  // During a rotation of the master key, credentials derived from either key are valid.
  const masters = [master, ...(config.masterKeysOld ?? [])];
  const usersOf = (location: StoredLocation, now: number): string[] =>
    masters.flatMap((each) =>
      keyVersionsAt(location, now).opening.map((version) =>
        publicKeyOf(userSeedOf(locationNkeyOf(each, location.id, version))),
      ),
    );
  return {
    /** The keys for a location's agents, newest first. */
    keysOf: (location: StoredLocation, now: number): Uint8Array[] =>
      keyVersionsAt(location, now).opening.map((version) =>
        locationKeyOf(master, location.id, version),
      ),
    /** The seed of the NATS user of a location's agents. */
    natsSeedOf: ({ id, key_version }: StoredLocation): string =>
      userSeedOf(locationNkeyOf(master, id, key_version)),
    /** The seed of the hub's NATS user. */
    hubNatsSeed: (): string => userSeedOf(hubNkeyOf(master)),
    /** The accounts of NATS, for its configuration. */
    natsAccounts: (locations: readonly StoredLocation[], now: number): string =>
      accountsConfig(
        masters.map((each) => publicKeyOf(userSeedOf(hubNkeyOf(each)))),
        locations.map((location) => ({ id: location.id, users: usersOf(location, now) })),
      ),
  };
}
