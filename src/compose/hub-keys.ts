// The hub's keys of all locations, derived from the master key in the versions in the store.
import type { Config } from "../config/config.ts";
import { keyVersionsAt } from "../model/location-key.ts";
import type { KeyVersions } from "../model/location-key.ts";
import type { DataDir } from "../runtime/data-dir.ts";
import type { Logger } from "../runtime/logger.ts";
import { locationKeyOf } from "../runtime/derived-keys.ts";
import { SealError } from "../runtime/sealer.ts";
import type { Store } from "../store/store.ts";
import type { KeysOf, LocationKeys } from "./location-keys.ts";
import { masterKeyOf } from "./store.ts";

/** How often the hub asks the store for rotated and removed locations. */
const REFRESH_MS = 5000;

export interface HubKeysOptions {
  readonly config: Config;
  readonly dataDir: DataDir;
  readonly store: Store;
  readonly log: Logger;
}

export async function openHubKeys({ config, dataDir, store, log }: HubKeysOptions) {
  const masters: Masters = [masterKeyOf(config, dataDir), ...(config.masterKeysOld ?? [])];
  // A removed location has no versions. An absent one counts as new until the next refresh.
  const known = new Map<string, KeyVersions | undefined>();

  /** Returns the locations whose keys have changed. */
  async function refresh(): Promise<string[]> {
    const now = await store.now();
    const locations = await store.locations.listAll();
    return locations.flatMap((location) => {
      const { id, removed } = location;
      const versions = removed === null ? keyVersionsAt(location, now) : undefined;
      const isSame = known.has(id) && JSON.stringify(known.get(id)) === JSON.stringify(versions);
      known.set(id, versions);
      return isSame ? [] : [id];
    });
  }
  const keysOf: KeysOf = (locationId) => {
    const versions = known.has(locationId) ? known.get(locationId) : FIRST;
    if (!versions) throw new SealError(`the location ${locationId} was removed`);
    return keysOfVersions(masters, locationId, versions);
  };
  await refresh();
  return {
    keysOf,
    /**
     * Calls back for each location whose keys have changed, with the new ones unless it was
     * removed. Returns a function that unsubscribes.
     */
    follow(onChange: (locationId: string, keys: LocationKeys | undefined) => void): () => void {
      const timer = setInterval(() => {
        refresh().then(
          (ids) => ids.forEach((id) => onChange(id, known.get(id) && keysOf(id))),
          (err: unknown) => log.debug({ err }, "cannot read location key versions"),
        );
      }, REFRESH_MS);
      return () => clearInterval(timer);
    },
  };
}

const FIRST: KeyVersions = { sealing: 1, opening: [1] };

type Masters = readonly [Uint8Array, ...Uint8Array[]];

/**
 * Returns the keys; the first one seals. Includes the next version: agents may use it before this
 * hub has heard of the rotation.
 */
function keysOfVersions(
  [current, ...old]: Masters,
  id: string,
  { sealing, opening }: KeyVersions,
): LocationKeys {
  const next = Math.max(...opening) + 1;
  const others = [...opening.filter((version) => version !== sealing), next];
  const keysBy = (master: Uint8Array, versions: readonly number[]): Uint8Array[] =>
    versions.map((version) => locationKeyOf(master, id, version));
  return [
    locationKeyOf(current, id, sealing),
    ...keysBy(current, others),
    ...old.flatMap((master) => keysBy(master, [sealing, ...others])),
  ];
}
