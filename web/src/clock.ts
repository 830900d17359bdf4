// Reads instants, and writes them as days and clock times, in UTC or in local time, and by how long
// ago they were.
import { parseInstant } from "../../src/model/instant.ts";
import { DAY_MS } from "../../src/model/periods.ts";
import { MINUTE_MS } from "../../src/model/slots.ts";

/** Minutes to add to UTC at an instant. */
export type OffsetAt = (ms: number) => number;

/**
 * The offset of the reader's machine. `getTimezoneOffset` leaves out the seconds of old offsets: a
 * date-time field would change while its year is typed.
 */
export const offsetHere: OffsetAt = (ms) => {
  const at = new Date(ms);
  const local = new Date(0);
  local.setUTCFullYear(at.getFullYear(), at.getMonth(), at.getDate());
  local.setUTCHours(at.getHours(), at.getMinutes(), at.getSeconds(), at.getMilliseconds());
  return (local.getTime() - ms) / MINUTE_MS;
};

/** `05`. */
export const two = (n: number): string => String(n).padStart(2, "0");

/** Returns an address's instant, in UTC if it has no offset, as ISO 8601; empty if it is none. */
export function instantIn(text = ""): string {
  const at = parseInstant(text);
  return at === undefined ? "" : new Date(at).toISOString();
}

/** `2026-11-22 14:05:09 UTC`. */
export const utcText = (ms: number): string => `${shifted(ms, 0)} UTC`;

/** `2026-11-22 14:05:09`; with the offset from UTC where the clock shows the same time twice. */
export function localText(ms: number, offsetAt: OffsetAt): string {
  const text = shifted(ms, offsetAt(ms));
  return isRepeated(ms, offsetAt) ? `${text} ${offsetText(offsetAt(ms))}` : text;
}

/** `2026-11-22 14:05 to 2026-11-22 16:05 UTC`, of two instants as written above. */
export const rangeText = (from: string, to: string): string =>
  `${withoutSeconds(from).replace(" UTC", "")} to ${withoutSeconds(to)}`;

const withoutSeconds = (text: string): string => text.replace(/:\d\d(?= |$)/, "");

/** Shifted by the offset, an instant has the local fields as its UTC fields. */
function shifted(ms: number, offset: number): string {
  const at = new Date(ms + offset * MINUTE_MS);
  const year = String(at.getUTCFullYear()).padStart(4, "0");
  const day = `${year}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}`;
  return `${day} ${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;
}

/** Tells whether the clock shows this time again, after it was set back, or did so before. */
function isRepeated(ms: number, offsetAt: OffsetAt): boolean {
  const offset = offsetAt(ms);
  return [ms - DAY_MS, ms + DAY_MS].some((near) => {
    const other = offsetAt(near);
    return other !== offset && offsetAt(ms + (offset - other) * MINUTE_MS) === other;
  });
}

/** `+02:00`. */
function offsetText(offset: number): string {
  const minutes = Math.abs(offset);
  return `${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

const STEPS = [
  [60, "s", 1],
  [3600, "min", 60],
  [86_400, "h", 3600],
  [Infinity, "d", 86_400],
] as const;

/** `12 s ago`, `3 h ago`; in the future `in 5 min`. */
export function formatAgo(iso: string | number, now: number): string {
  const seconds = Math.round((now - new Date(iso).getTime()) / 1000);
  const [, unit, size] = STEPS.find(([below]) => Math.abs(seconds) < below) ?? STEPS[3];
  const amount = `${Math.floor(Math.abs(seconds) / size)} ${unit}`;
  return seconds < 0 ? `in ${amount}` : `${amount} ago`;
}
