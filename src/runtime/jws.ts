// Signs with a private key or a shared secret: JSON Web Signatures (RFC 7515).
import { createPrivateKey } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { CompactSign } from "jose/jws/compact/sign";

/** The message says what is wrong with the key or the algorithm, without the key. */
export class SigningError extends Error {
  override readonly name = "SigningError";
}

export interface SigningKey {
  /** A name from RFC 7518 section 3.1, or EdDSA. */
  readonly algorithm: string;
  readonly key: KeyObject | Uint8Array;
  readonly key_id: string | undefined;
}

// RFC 7518 section 3.4 and RFC 8037, by node:crypto's names for curves and key types.
const ALGORITHMS: Readonly<Record<string, string>> = {
  prime256v1: "ES256",
  secp384r1: "ES384",
  secp521r1: "ES512",
  ed25519: "EdDSA",
};

/**
 * A PEM is a private key; any other text is a shared secret. The default algorithm is that of the
 * key's curve, otherwise RS256 or HS256.
 */
export function signingKeyOf(
  secret: string,
  algorithm: string | undefined,
  key_id: string | undefined,
): SigningKey {
  if (!secret.includes("-----BEGIN"))
    return {
      algorithm: algorithm ?? "HS256",
      key: new TextEncoder().encode(secret),
      key_id,
    };
  try {
    const key = createPrivateKey(secret);
    return { algorithm: algorithm ?? algorithmOf(key), key, key_id };
  } catch (cause) {
    throw new SigningError("the private key cannot be read", { cause });
  }
}

function algorithmOf(key: KeyObject): string {
  const type = key.asymmetricKeyDetails?.namedCurve ?? key.asymmetricKeyType;
  return ALGORITHMS[type ?? ""] ?? "RS256";
}

/**
 * Returns the compact serialization; `detached` leaves out its payload (RFC 7515 appendix F).
 * Rejects with `SigningError`.
 */
export async function signJws(
  payload: Uint8Array,
  { algorithm, key, key_id }: SigningKey,
  { detached = false, typ }: { detached?: boolean; typ?: string } = {},
): Promise<string> {
  const header = {
    alg: algorithm,
    ...(typ !== undefined && { typ }),
    ...(key_id !== undefined && { kid: key_id }),
  };
  const jws = await new CompactSign(payload)
    .setProtectedHeader(header)
    .sign(key)
    .catch((cause: unknown) => {
      throw new SigningError(`the key cannot sign with the algorithm '${algorithm.slice(0, 50)}'`, {
        cause,
      });
    });
  return detached ? jws.replace(/\..*\./, "..") : jws;
}
