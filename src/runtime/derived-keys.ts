// Derives keys and ids from a secret key, each for one use: none of them reveals the key.
import { createSecretKey, hkdfSync } from "node:crypto";
import type { KeyObject } from "node:crypto";

const bytesFor = (key: Uint8Array, use: string, length = 32): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", key, "", `sonde ${use}`, length));

/** Does not reveal the key. */
export const idOfKey = (key: Uint8Array): string =>
  Buffer.from(bytesFor(key, "key id", 6)).toString("hex");

/** Derives 32 bytes for one use. */
export const deriveSecret = (key: Uint8Array, use: string): KeyObject =>
  createSecretKey(bytesFor(key, use));

/**
 * Returns the key that seals messages between the hub and a location's agents: 32 bytes, derived
 * from the master key without revealing it. `version`: 1, plus one with each rotation.
 */
export const locationKeyOf = (master: Uint8Array, locationId: string, version = 1): Uint8Array =>
  bytesFor(master, `location ${locationId}${version === 1 ? "" : ` v${version}`}`);

/** Returns the 32 bytes behind the nkey with which the hub authenticates to NATS. */
export const hubNkeyOf = (master: Uint8Array): Uint8Array => bytesFor(master, "nats hub");

/** Returns the 32 bytes behind the nkey with which a location's agents authenticate to NATS. */
export const locationNkeyOf = (
  master: Uint8Array,
  locationId: string,
  version: number,
): Uint8Array => bytesFor(master, `nats user ${locationId} v${version}`);
