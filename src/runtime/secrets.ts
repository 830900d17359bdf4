// Seals texts at rest: compact JWE (RFC 7516), `dir` with A256GCM, each bound to its place.
import { createSecretKey, hkdfSync } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { decodeProtectedHeader } from "jose/decode/protected_header";
import { compactDecrypt } from "jose/jwe/compact/decrypt";
import { CompactEncrypt } from "jose/jwe/compact/encrypt";

export interface Sealer {
  /** The id of the sealing key. */
  readonly keyId: string;
  /** The ids of the opening keys, the sealing key first. */
  readonly keyIds: readonly string[];
  /** A text sealed for one place does not open for another. */
  seal(text: string, place: string): Promise<string>;
  /** Rejects with `SealError`. */
  open(sealed: string, place: string): Promise<string>;
}

export interface MasterKeys {
  /** 32 bytes. */
  readonly current: Uint8Array;
  /** Earlier keys: they still open, but no longer seal. */
  readonly old?: readonly Uint8Array[];
}

/** A sealed text cannot be opened: wrong key or place, or the text was changed. */
export class SealError extends Error {
  override readonly name = "SealError";
}

interface Key {
  readonly id: string;
  readonly secret: KeyObject;
}

const ENCRYPTION = "A256GCM";

export function createSealer({ current, old = [] }: MasterKeys): Sealer {
  const sealing = deriveKey(current);
  const opening = new Map([sealing, ...old.map(deriveKey)].map((key) => [key.id, key]));
  return {
    keyId: sealing.id,
    keyIds: [...opening.keys()],
    seal: (text, place) =>
      new CompactEncrypt(new TextEncoder().encode(text))
        .setProtectedHeader({
          alg: "dir",
          enc: ENCRYPTION,
          kid: sealing.id,
          place,
        })
        .encrypt(sealing.secret),
    async open(sealed, place) {
      const id = keyIdOf(sealed);
      const key = opening.get(id);
      if (!key) throw new SealError(`${place} is sealed with the key ${id}`);
      const { plaintext, protectedHeader } = await decrypt(sealed, place, key);
      if (protectedHeader["place"] !== place)
        throw new SealError(`the text at ${place} was sealed for another place`);
      return new TextDecoder().decode(plaintext);
    },
  };
}

/** The id of the key that sealed the text. Throws `SealError` for a text that is not sealed. */
export function keyIdOf(sealed: string): string {
  try {
    return String(decodeProtectedHeader(sealed).kid);
  } catch (cause) {
    throw new SealError("the text is not sealed", { cause });
  }
}

async function decrypt(sealed: string, place: string, { secret }: Key) {
  try {
    return await compactDecrypt(sealed, secret, {
      keyManagementAlgorithms: ["dir"],
      contentEncryptionAlgorithms: [ENCRYPTION],
    });
  } catch (cause) {
    throw new SealError(`the sealed text at ${place} was changed`, { cause });
  }
}

/** Derived, because the master key serves other purposes too. */
const deriveKey = (master: Uint8Array): Key => ({
  id: keyIdFrom(master),
  secret: deriveSecret(master, "encryption at rest"),
});

/** Does not reveal the key. */
export const keyIdFrom = (key: Uint8Array): string => derive(key, "key id", 6).toString("hex");

/** Derives 32 bytes for one use. */
export const deriveSecret = (key: Uint8Array, use: string): KeyObject =>
  createSecretKey(derive(key, use, 32));

const derive = (key: Uint8Array, use: string, bytes: number): Buffer =>
  Buffer.from(hkdfSync("sha256", key, "", `sonde ${use}`, bytes));

/**
 * Returns the key that seals messages between the hub and a location's agents: 32 bytes, derived
 * from the master key without revealing it. `version`: 1, plus one with each rotation.
 */
export const locationKeyOf = (master: Uint8Array, locationId: string, version = 1): Uint8Array =>
  derive32(master, `location ${locationId}${version === 1 ? "" : ` v${version}`}`);

/** Returns the 32 bytes behind the nkey with which the hub authenticates to NATS. */
export const hubNkeyOf = (master: Uint8Array): Uint8Array => derive32(master, "nats hub");

/** Returns the 32 bytes behind the nkey with which a location's agents authenticate to NATS. */
export const locationNkeyOf = (
  master: Uint8Array,
  locationId: string,
  version: number,
): Uint8Array => derive32(master, `nats user ${locationId} v${version}`);

const derive32 = (master: Uint8Array, use: string): Uint8Array =>
  new Uint8Array(derive(master, use, 32));
