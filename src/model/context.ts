// The context of a run: the names of its variables, and the part that a workflow's result keeps.
import { isCredential, MASK } from "./mask.ts";

export type Context = Readonly<Record<string, unknown>>;

/** The name by which a run reads a variable. */
export const nameOfVariable = (given: string): string => given.toUpperCase();

/** Returns the first two names that are read as the same variable. */
export function namesOfOne(given: readonly string[]): readonly [string, string] | undefined {
  const known = new Map<string, string>();
  for (const name of given) {
    const other = known.get(nameOfVariable(name));
    if (other !== undefined) return [other, name];
    known.set(nameOfVariable(name), name);
  }
  return undefined;
}

/** In characters. */
const LONGEST_NAME = 100;
const ALL_VALUES = 8 * 1024;

/**
 * Masks values named like credentials, and whatever else `mask` masks. A value that exceeds the
 * room left is cut off, and becomes text with its length.
 */
export function keptContext(context: Context, mask: (text: string) => string): Context {
  let left = ALL_VALUES;
  return Object.fromEntries(
    Object.entries(context).map(([name, value]) => {
      const shown = withoutCredentials(name, value, mask);
      const text = textOf(shown);
      const kept =
        text.length <= left
          ? shown
          : `${text.slice(0, left).toWellFormed()}… (${text.length} characters)`;
      left = Math.max(0, left - text.length);
      return [mask(name).slice(0, LONGEST_NAME).toWellFormed(), kept];
    }),
  );
}

/** Returns the value itself if it holds no credentials. */
function withoutCredentials(name: string, value: unknown, mask: (text: string) => string): unknown {
  if (isCredential(name)) return MASK;
  const text = textOf(value, hideCredential);
  const masked = mask(text);
  return masked === textOf(value) ? value : masked;
}

const hideCredential = (name: string, value: unknown): unknown =>
  isCredential(name) ? MASK : value;

/** The text that a variable with this value fills in. */
const textOf = (value: unknown, replace?: (name: string, value: unknown) => unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value, replace);
