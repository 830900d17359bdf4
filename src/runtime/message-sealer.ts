// Seals messages between hub and agents: JWE (RFC 7516), `dir` with A256GCM, each bound to its
// place. Unlike in the compact form, only the header is text: base64 would add a third. The library
// `jose` would take ten times the CPU time.
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { deriveSecret, idOfKey } from "./derived-keys.ts";
import { SealError } from "./sealer.ts";

export type MessageSealer = ReturnType<typeof createMessageSealer>;

interface Key {
  readonly id: string;
  readonly encryption: KeyObject;
}

const ALGORITHM = "aes-256-gcm";
const DOT = ".".charCodeAt(0);
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** No header of ours is longer. */
const MAX_HEADER_BYTES = 512;

/** `keys`: 32 bytes each. The first seals; all open. */
export function createMessageSealer(keys: readonly [Uint8Array, ...Uint8Array[]]) {
  const [sealing, ...others] = [keyFrom(keys[0]), ...keys.slice(1).map(keyFrom)] as const;
  const opening = new Map([sealing, ...others].map((key) => [key.id, key]));
  /** The ids of the opening keys, the sealing key first. */
  const keyIds: readonly string[] = [...opening.keys()];
  const digesting = deriveSecret(keys[0], "message digest");
  return {
    keyIds,
    /** A message sealed for one place does not open for another. */
    seal: (text: string, place: string): Uint8Array => seal(text, place, sealing),
    /** Throws `SealError`. */
    open(message: Uint8Array, place: string): string {
      const header = headerOf(message);
      const key = opening.get(header.kid);
      if (!key)
        throw new SealError(`sealed with the key ${header.kid} instead of ${keyIds.join(" or ")}`);
      const text = decrypt(message, header.bytes, key);
      if (header.place !== place) throw new SealError(`sealed for another place than ${place}`);
      return text;
    },
    /** The same for the same text, and unpredictable without the sealing key. */
    digest: (text: string): string =>
      createHmac("sha256", digesting).update(text).digest("base64url"),
  };
}

const keyFrom = (key: Uint8Array): Key => ({
  id: idOfKey(key),
  encryption: deriveSecret(key, "encryption of messages"),
});

function seal(text: string, place: string, { id, encryption }: Key): Uint8Array {
  const fields = { alg: "dir", enc: "A256GCM", kid: id, place };
  const header = Buffer.from(Buffer.from(JSON.stringify(fields)).toString("base64url"));
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, encryption, iv).setAAD(header);
  const ciphertext = [cipher.update(text, "utf8"), cipher.final()];
  return Buffer.concat([header, Uint8Array.of(DOT), iv, cipher.getAuthTag(), ...ciphertext]);
}

function decrypt(message: Uint8Array, headerBytes: number, { encryption }: Key): string {
  const [ivAt, tagAt] = [headerBytes + 1, headerBytes + 1 + IV_BYTES];
  const textAt = tagAt + TAG_BYTES;
  try {
    const iv = message.subarray(ivAt, tagAt);
    const decipher = createDecipheriv(ALGORITHM, encryption, iv, { authTagLength: TAG_BYTES })
      .setAAD(message.subarray(0, headerBytes))
      .setAuthTag(message.subarray(tagAt, textAt));
    const text = decipher.update(message.subarray(textAt));
    return Buffer.concat([text, decipher.final()]).toString();
  } catch (cause) {
    throw new SealError("changed after it was sealed", { cause });
  }
}

interface Header {
  readonly kid: string;
  readonly place: string;
  readonly bytes: number;
}

/** Reads the header that the message claims, before it is verified. */
function headerOf(message: Uint8Array): Header {
  const bytes = message.subarray(0, MAX_HEADER_BYTES).indexOf(DOT);
  try {
    const text = Buffer.from(message.subarray(0, bytes)).toString("latin1");
    const fields = JSON.parse(Buffer.from(text, "base64url").toString()) as Record<string, unknown>;
    const { kid, place } = fields;
    if (typeof kid === "string" && /^[0-9a-f]{12}$/.test(kid) && typeof place === "string")
      return { kid, place, bytes };
  } catch {
    // not ours
  }
  throw new SealError("not sealed");
}
