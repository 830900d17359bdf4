// Instants: epoch milliseconds in code, ISO 8601 UTC strings on the wire.

/** With microseconds, as `created`, `last_update` and the times of results are written. */
export const formatInstant = (ms: number): string =>
  `${new Date(ms).toISOString().slice(0, -1)}000Z`;

/** Without a fraction, as the `time` of a statistics period is written. */
export const formatPeriodTime = (ms: number): string =>
  new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

const DATE = String.raw`(\d{4})-(\d{2})-(\d{2})`;
const TIME = String.raw`(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?`;
const OFFSET = String.raw`Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d`;
const ISO = new RegExp(`^${DATE}(?:[T ]${TIME}(${OFFSET})?)?$`, "i");

/**
 * Reads an ISO 8601 date or date-time, UTC when it names no offset. Digits beyond the millisecond
 * are cut off. Returns undefined for anything else, calendar dates that do not exist included.
 */
export function parseInstant(text: string): number | undefined {
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
