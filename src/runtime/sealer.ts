// Seals texts at rest: compact JWE (RFC 7516), `dir` with A256GCM, each bound to its place.
import type { KeyObject } from "node:crypto";
import { decodeProtectedHeader } from "jose/decode/protected_header";
import { compactDecrypt } from "jose/jwe/compact/decrypt";
import { CompactEncrypt } from "jose/jwe/compact/encrypt";
import { deriveSecret, idOfKey } from "./derived-keys.ts";

export type Sealer = ReturnType<typeof createSealer>;

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

export function createSealer({ current, old = [] }: MasterKeys) {
  const sealing = keyFrom(current);
  const opening = new Map([sealing, ...old.map(keyFrom)].map((key) => [key.id, key]));
  return {
    /** The id of the sealing key. */
    keyId: sealing.id,
    /** The ids of the opening keys, the sealing key first. */
    keyIds: [...opening.keys()],
    /** A text sealed for one place does not open for another. */
    seal: (text: string, place: string): Promise<string> =>
      new CompactEncrypt(new TextEncoder().encode(text))
        .setProtectedHeader({ alg: "dir", enc: ENCRYPTION, kid: sealing.id, place })
        .encrypt(sealing.secret),
    /** Rejects with `SealError`. */
    async open(sealed: string, place: string): Promise<string> {
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
const keyFrom = (master: Uint8Array): Key => ({
  id: idOfKey(master),
  secret: deriveSecret(master, "encryption at rest"),
});
