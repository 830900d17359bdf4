// Instants: epoch milliseconds in code, ISO 8601 UTC strings on the wire.

/** The last instant that can be written: years have four digits. */
export const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** The first: many clients cannot read earlier years. It is a Monday, so its week is its own. */
export const FIRST_INSTANT = Date.parse("0001-01-01T00:00:00Z");

/** With microseconds: `created`, `last_update`, times of results. */
export function formatInstant(ms: number): string {
  const whole = Math.trunc(ms);
  const second = Math.floor(whole / 1000);
  return `${formatSecond(second)}.${String(whole - second * 1000).padStart(3, "0")}000Z`;
}

const KEPT_SECONDS = 64;
const kept: (readonly [second: number, text: string] | undefined)[] = [];

/** Caches seconds: the instants of one result, and of the next, lie a few seconds apart. */
function formatSecond(second: number): string {
  const at = ((second % KEPT_SECONDS) + KEPT_SECONDS) % KEPT_SECONDS;
  const known = kept[at];
  if (known?.[0] === second) return known[1];
  const text = new Date(second * 1000).toISOString().slice(0, -".000Z".length);
  kept[at] = [second, text];
  return text;
}

/** Without a fraction: the `time` of a statistics period. */
export const formatPeriodTime = (ms: number): string =>
  new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

const DATE = String.raw`(\d{4})-(\d{2})-(\d{2})`;
const TIME = String.raw`(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?`;
const OFFSET = String.raw`Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?`;
const ISO = new RegExp(`^${DATE}(?:[T ]${TIME}(${OFFSET})?)?$`, "i");

/**
 * Parses an ISO 8601 date or date-time, in UTC if it has no offset. Truncates to milliseconds.
 * Returns undefined for anything else, including dates that do not exist.
 */
export function parseInstant(text: string): number | undefined {
  return parseOwn(text) ?? parseAny(text);
}

const OWN = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}000Z$/;

/** Parses what `formatInstant` wrote, which is nearly every instant, in half the time. */
function parseOwn(text: string): number | undefined {
  if (!OWN.test(text)) return undefined;
  const at = (start: number): number =>
    10 * text.charCodeAt(start) + text.charCodeAt(start + 1) - 11 * ZERO;
  const day = Date.UTC(100 * at(0) + at(2), at(5) - 1, at(8));
  const second = day / 1000 + 3600 * at(11) + 60 * at(14) + at(17);
  // A date that does not exist reads back as another.
  if (formatSecond(second) !== text.slice(0, 19)) return undefined;
  return 1000 * second + 10 * at(20) + text.charCodeAt(22) - ZERO;
}

const ZERO = 0x30;

function parseAny(text: string): number | undefined {
  const match = ISO.exec(text);
  if (!match) return undefined;
  const [
    ,
    year,
    month,
    day,
    hour = "00",
    minute = "00",
    second = "00",
    fraction = "",
    offset = "Z",
  ] = match;
  const ms = fraction.padEnd(3, "0").slice(0, 3);
  const local = `${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`;
  const at = Date.parse(local);
  if (Number.isNaN(at) || new Date(at).toISOString() !== local) return undefined;
  return at - offsetMs(offset);
}

function offsetMs(offset: string): number {
  if (offset.toUpperCase() === "Z") return 0;
  const [hours, minutes] = [Number(offset.slice(1, 3)), Number(offset.slice(3).replace(":", ""))];
  return (offset.startsWith("-") ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}
