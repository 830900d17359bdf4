// The tags that have an effect on a call, and what they say.
import { LONGEST_CALL_MS } from "./time-limits.ts";

export interface Behaviour {
  readonly timeoutMs: number;
  readonly followRedirects: boolean;
  readonly maxRedirects: number;
  readonly insecureTls: boolean;
}

export const DEFAULT_BEHAVIOUR: Behaviour = {
  timeoutMs: 30_000,
  followRedirects: true,
  maxRedirects: 10,
  insecureTls: false,
};

const LONGEST_TIMEOUT_S = LONGEST_CALL_MS / 1000;
export const MOST_REDIRECTS = 50;
const PREFIX = "apimetrics:";

const SWITCHES = {
  noredirect: { followRedirects: false },
  "insecure-tls": { insecureTls: true },
} as const satisfies Readonly<Record<string, Partial<Behaviour>>>;

/** A number follows the name: `timeout:10`. */
const NUMBERS = { timeout: readTimeout, "max-redirects": readRedirects };

const NO_METRICS = "nometrics";

export type EffectiveTag = keyof typeof SWITCHES | keyof typeof NUMBERS | typeof NO_METRICS;
export const EFFECTIVE_TAGS = [
  ...Object.keys({ ...SWITCHES, ...NUMBERS }),
  NO_METRICS,
] as readonly EffectiveTag[];

/**
 * Ignores other tags; the last of several for one setting wins. A number above the maximum is
 * lowered to it (timeout 120 s, redirects 50). A malformed number is a fault of the definition,
 * returned as a sentence: a default would measure something that the user did not ask for.
 */
export function readBehaviour(tags: readonly string[]): Behaviour | string {
  let behaviour = DEFAULT_BEHAVIOUR;
  for (const tag of tags) {
    const read = readTag(withoutPrefix(tag));
    if (typeof read === "string") return `the tag '${tag}' ${read}`;
    behaviour = { ...behaviour, ...read };
  }
  return behaviour;
}

/** Whether the call may take longer than by default. */
export function isLong(tags: readonly string[]): boolean {
  const read = readBehaviour(tags);
  return typeof read !== "string" && read.timeoutMs > DEFAULT_BEHAVIOUR.timeoutMs;
}

/** Whether one of the tags opts the call out of call metrics. */
export const optsOutOfMetrics = (tags: readonly string[]): boolean =>
  tags.some((tag) => withoutPrefix(tag) === NO_METRICS);

function withoutPrefix(tag: string): string {
  const text = tag.trim().toLowerCase();
  return text.startsWith(PREFIX) ? text.slice(PREFIX.length) : text;
}

function readTag(tag: string): Partial<Behaviour> | string {
  if (isIn(SWITCHES, tag)) return SWITCHES[tag];
  const [name = "", value] = tag.split(/:(.*)/s);
  return value !== undefined && isIn(NUMBERS, name) ? NUMBERS[name](value) : {};
}

const isIn = <T extends object>(table: T, name: PropertyKey): name is keyof T =>
  Object.hasOwn(table, name);

function readTimeout(value: string): Partial<Behaviour> | string {
  const seconds = /^\d+(\.\d+)?$/.test(value) ? Number(value) : 0;
  return seconds > 0
    ? { timeoutMs: Math.min(seconds, LONGEST_TIMEOUT_S) * 1000 }
    : `needs a number of seconds above 0 (at most ${LONGEST_TIMEOUT_S})`;
}

function readRedirects(value: string): Partial<Behaviour> | string {
  return /^\d+$/.test(value)
    ? { maxRedirects: Math.min(Number(value), MOST_REDIRECTS) }
    : `needs a whole number (at most ${MOST_REDIRECTS})`;
}
