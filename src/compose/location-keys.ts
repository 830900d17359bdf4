// The keys that seal messages on NATS: the hub has all locations' keys, an agent its own.
import type { SealerOf } from "../bus/nats/sealing.ts";
import type { Config } from "../config/config.ts";
import { createMessageSealer } from "../runtime/message-sealer.ts";
import type { MessageSealer } from "../runtime/message-sealer.ts";
import { locationKeyOf } from "../runtime/derived-keys.ts";
import { SealError } from "../runtime/sealer.ts";

/**
 * Returns the keys of a location, 32 bytes each: the first seals, all open. Throws if it has none.
 */
export type KeysOf = (locationId: string) => LocationKeys;

export type LocationKeys = readonly [Uint8Array, ...Uint8Array[]];

/** Maximum locations with a cached sealer. */
const MAX_SEALERS = 10_000;

export function createKeyRing(keysOf: KeysOf) {
  const sealers = new Map<string, MessageSealer>();
  const sealerOf: SealerOf = (locationId) => {
    const known = sealers.get(locationId);
    if (known) return known;
    if (sealers.size >= MAX_SEALERS) sealers.clear(); // the sender chooses the location's name
    const sealer = createMessageSealer(keysOf(locationId));
    sealers.set(locationId, sealer);
    return sealer;
  };
  return {
    sealerOf,
    /** Call it when the location's keys have changed. */
    changed: (locationId: string): void => void sealers.delete(locationId),
  };
}

/**
 * Returns the keys of a process that is only an agent: configured, or derived from the master key.
 */
export function agentKeysOf(config: Config): KeysOf {
  const { location, locationKeys, masterKey, masterKeysOld = [] } = config;
  const own = locationKeys ?? (masterKey && firstKeys([masterKey, ...masterKeysOld], location));
  return (locationId) => {
    if (locationId === location && own) return own;
    throw new SealError(`this process has no key of location ${locationId}`);
  };
}

/** Those of the first version: only the hub knows of rotations. */
const firstKeys = (
  [current, ...old]: readonly [Uint8Array, ...Uint8Array[]],
  locationId: string,
): LocationKeys => [
  locationKeyOf(current, locationId),
  ...old.map((master) => locationKeyOf(master, locationId)),
];
