// Reads a call's behaviour from its tags.
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

/**
 * Ignores other tags; the last of several for one setting wins. A number above the maximum is
 * lowered to it (timeout 120 s, redirects 50). A malformed number is a fault of the definition,
 * returned as a sentence: a default would measure something that the user did not ask for.
 */
export function readBehaviour(tags: readonly string[]): Behaviour | string {
  let behaviour = DEFAULT_BEHAVIOUR;
  for (const tag of tags) {
    const text = tag.trim().toLowerCase();
    const read = readTag(text.startsWith(PREFIX) ? text.slice(PREFIX.length) : text);
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

function readTag(tag: string): Partial<Behaviour> | string {
  if (tag === "noredirect") return { followRedirects: false };
  if (tag === "insecure-tls") return { insecureTls: true };
  const [name, value = ""] = tag.split(/:(.*)/s);
  if (name === "timeout" && tag !== name) return readTimeout(value);
  if (name === "max-redirects" && tag !== name) return readRedirects(value);
  return {};
}

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
