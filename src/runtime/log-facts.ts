// Formats the facts of a log line for people: `latency=9.9ms` for "latency_ms": 9.859.

export type LogFields = Readonly<Record<string, unknown>>;

export interface Fact {
  readonly name: string;
  readonly value: string;
}

/** Fields shown elsewhere in the line, or useless on a screen. */
const ELSEWHERE = new Set(["level", "time", "msg", "role", "err", "pid", "hostname"]);
/** An agent's own ids, the same in each of its lines. */
const STEADY = new Set(["location_id", "agent_id"]);
/** Fields that name what a line is about; next to them, ids only lengthen the line. */
const NAMES = ["call_name", "workflow_name"];
const ID = /^[0-9a-z]{26}$/;
const SHOWN_OF_ID = 10;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

/** Extracts the facts of one line after another, an agent's own ids only when they change. */
export function factsOf() {
  const shown = new Map<string, unknown>();
  const isRepeated = (fields: LogFields, name: string): boolean => {
    if (fields["role"] !== "agent" || !STEADY.has(name)) return false;
    const isSame = shown.get(name) === fields[name];
    shown.set(name, fields[name]);
    return isSame;
  };
  return (fields: LogFields): Fact[] => {
    const isNamed = NAMES.some((name) => fields[name] !== undefined);
    return Object.entries(fields)
      .filter(([name]) => !ELSEWHERE.has(name) && !isRepeated(fields, name))
      .filter(([name]) => !isNamed || STEADY.has(name) || !isId(name))
      .toSorted(([one], [other]) => Number(isId(one)) - Number(isId(other)))
      .flatMap(([name, value]) => flat(name.replace(/_name$/, ""), value, fields));
  };
}

const isId = (name: string): boolean => name.endsWith("_id");

function flat(name: string, value: unknown, line: LogFields): Fact[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value) && value.every((item) => typeof item !== "object"))
    return [{ name, value: quoted(value.map((item) => scalar(item, line)).join(",")) }];
  if (typeof value === "object")
    return Object.entries(value).flatMap(([inner, item]) => flat(`${name}.${inner}`, item, line));
  if (name.endsWith("_ms") && typeof value === "number")
    return [{ name: printable(name.slice(0, -3)), value: duration(value) }];
  return [{ name: printable(name), value: quoted(scalar(value, line)) }];
}

function scalar(value: unknown, { time }: LogFields): string {
  if (typeof value === "number") return rounded(value);
  const text = textOf(value);
  if (ID.test(text)) return `${text.slice(0, SHOWN_OF_ID)}…`;
  return INSTANT.test(text) ? localTime(text, textOf(time)) : text;
}

const duration = (ms: number): string =>
  ms >= 10_000 ? `${rounded(ms / 1000)}s` : `${rounded(ms)}ms`;

const rounded = (value: number): string =>
  Number.isInteger(value) ? String(value) : String(Number(value.toFixed(value >= 100 ? 0 : 1)));

/** Adds the date if it differs from the line's. */
function localTime(text: string, now: string): string {
  const instant = new Date(text);
  const time = instant.toTimeString().slice(0, 8);
  const isToday = instant.toDateString() === new Date(now).toDateString();
  if (isToday) return time;
  const [year, month, day] = [instant.getFullYear(), instant.getMonth() + 1, instant.getDate()];
  return `${year}-${pad(month)}-${pad(day)} ${time}`;
}

/** Returns text as it is, and any other value as JSON. */
export const textOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

const pad = (value: number): string => String(value).padStart(2, "0");

const quoted = (text: string): string => {
  const shown = printable(text);
  return shown === "" || /[\s"=]/.test(shown) ? `"${shown.replaceAll('"', "'")}"` : shown;
};

// Control characters move the cursor or colour the screen; direction marks reorder what is read.
const UNPRINTABLE = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;

/**
 * Escapes unprintable characters: users choose names, and only plain text may reach the terminal.
 */
export const printable = (text: string): string =>
  text.replaceAll(UNPRINTABLE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
