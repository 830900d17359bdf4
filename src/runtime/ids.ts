// Identifiers that sort by time: 10 characters of milliseconds, 16 of randomness or a hash, in
// Crockford's base 32. An index appends time-ordered keys instead of scattering them.
import { createHash, hash, randomBytes } from "node:crypto";
import { base32 } from "./base32.ts";

/** Crockford's base 32. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
/** Characters of time at the start of an id. */
export const TIME_DIGITS = 10;
const TAIL_BYTES = 10;

let last = { ms: 0, tail: new Uint8Array(TAIL_BYTES) };

/** Returns an id greater than every earlier one of this process, even if the clock was set back. */
export function newId(now: number): string {
  if (now > last.ms) last = { ms: now, tail: randomBytes(TAIL_BYTES) };
  else increment(last.tail);
  return encodeTime(last.ms) + base32(last.tail, ALPHABET);
}

/** The same time and parts always give the same id: repeating an insert is harmless. */
export function derivedId(ms: number, ...parts: readonly string[]): string {
  const hash = createHash("sha256").update(parts.join("\0")).digest();
  return encodeTime(ms) + base32(hash.subarray(0, TAIL_BYTES), ALPHABET);
}

/**
 * Returns the id of a deployment's run: the trigger's time, then the part of the deployment's id
 * after its time. The store makes the same in SQL.
 */
export const scheduledRunId = (triggerTime: number, deploymentId: string): string =>
  encodeTime(triggerTime) + deploymentId.slice(TIME_DIGITS);

/** Returns the ids of a run's steps, in order, derived from the run. */
export const stepIds = (dueTime: number, runId: string, count: number): string[] =>
  Array.from({ length: count }, (_, step) => derivedId(dueTime, runId, String(step)));

/** Distinguishes texts without revealing them. */
export const shortHash = (text: string): string => hash("sha256", text, "base64url").slice(0, 16);

function increment(bytes: Uint8Array): void {
  for (let at = bytes.length - 1; at >= 0; at -= 1) {
    bytes[at] = ((bytes[at] ?? 0) + 1) & 0xff;
    if (bytes[at] !== 0) return;
  }
}

export function encodeTime(ms: number): string {
  let [text, rest] = ["", Math.floor(ms)];
  for (let digit = 0; digit < TIME_DIGITS; digit += 1) {
    text = ALPHABET.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** Returns the time that an id begins with, in epoch milliseconds. */
export function decodeTime(id: string): number {
  let ms = 0;
  for (let at = 0; at < TIME_DIGITS; at += 1) ms = ms * 32 + ALPHABET.indexOf(id.charAt(at));
  return ms;
}
