// The nkeys of NATS users: Ed25519 keys, written in base32 with their purpose and a checksum.
import { nkeys } from "@nats-io/transport-node";
import { base32 } from "../../runtime/base32.ts";

/** Returns a user's seed as NATS writes it (`SU…`), from 32 raw bytes. */
export function userSeedOf(raw: Uint8Array): string {
  const seed = Buffer.from([...USER_SEED, ...raw]);
  const checksum = Buffer.alloc(2);
  checksum.writeUInt16LE(crc16(seed));
  return base32(Buffer.concat([seed, checksum]), ALPHABET);
}

/**
 * Returns the public key of a seed (`U…`), by which the server knows the user. Throws if the text
 * is not a seed.
 */
export const publicKeyOf = (seed: string): string =>
  nkeys.fromSeed(Buffer.from(seed)).getPublicKey();

/** Two prefixes of 5 bits, which make the text begin with S for seed and U for user. */
const USER_SEED = [0x95, 0x00];

/** RFC 4648. */
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** CRC-16/XMODEM. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x80_00 ? (crc << 1) ^ 0x10_21 : crc << 1;
    crc &= 0xff_ff;
  }
  return crc;
}
