// Instants: epoch milliseconds in code, ISO 8601 UTC strings on the wire.

/** With microseconds: `created`, `last_update`, times of results. */
export function formatInstant(ms: number): string {
  const whole = Math.trunc(ms);
  const second = Math.floor(whole / 1000);
  return `${formatSecond(second)}.${String(whole - second * 1000).padStart(3, "0")}000Z`;
}

const KEPT_SECONDS = 64;
const kept: (readonly [second: number, text: string] | undefined)[] = [];

/** The instants of one result are within a few seconds, and so are those of the next. */
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
const TIME = String.raw`(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?`;
const OFFSET = String.raw`Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d`;
const ISO = new RegExp(`^${DATE}(?:[T ]${TIME}(${OFFSET})?)?$`, "i");

/**
 * Parses an ISO 8601 date or date-time, in UTC if it has no offset. Truncates to milliseconds.
 * Returns undefined for anything else, including dates that do not exist.
 */
export function parseInstant(text: string): number | undefined {
  const own = Date.parse(`${text.slice(0, 23)}Z`);
  if (!Number.isNaN(own) && formatInstant(own) === text) return own; // ours: no need to search
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
  const [hours, minutes] = [Number(offset.slice(1, 3)), Number(offset.slice(-2))];
  return (offset.startsWith("-") ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}
