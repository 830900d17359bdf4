// The key that the secrets in a location's ticks are sealed with: it follows from the master key,
// and tells nothing of it.
import { hkdfSync } from "node:crypto";

/** 32 bytes. */
export const locationKeyOf = (master: Uint8Array, locationId: string): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", master, "", `sonde location ${locationId}`, 32));
