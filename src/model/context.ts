// What a workflow's result keeps of the context that its run was given.
import { isCredential, MASK } from "./mask.ts";

export type Context = Readonly<Record<string, unknown>>;

/** Characters. */
const LONGEST_NAME = 100;
const ALL_VALUES = 8 * 1024;

/**
 * The context with the values of credentials masked, by their names, and whatever else `mask` does
 * not show. What exceeds the room is cut off, and is then text that tells its length.
 */
export function keptContext(context: Context, mask: (text: string) => string): Context {
  let left = ALL_VALUES;
  return Object.fromEntries(
    Object.entries(context).map(([name, value]) => {
      const shown = withoutCredentials(name, value, mask);
      const text = textOf(shown);
      const kept =
        text.length <= left ? shown : `${text.slice(0, left)}… (${text.length} characters)`;
      left = Math.max(0, left - text.length);
      return [mask(name).slice(0, LONGEST_NAME), kept];
    }),
  );
}

/** Unchanged where it holds none. */
function withoutCredentials(name: string, value: unknown, mask: (text: string) => string): unknown {
  if (isCredential(name)) return MASK;
  const text = textOf(value, hideCredential);
  const masked = mask(text);
  return masked === textOf(value) ? value : masked;
}

const hideCredential = (name: string, value: unknown): unknown =>
  isCredential(name) ? MASK : value;

/** As it is filled in. */
const textOf = (value: unknown, replace?: (name: string, value: unknown) => unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value, replace);
