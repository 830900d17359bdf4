// Text that both databases can hold and search in: no NUL, which PostgreSQL refuses, and no half of
// a surrogate pair, which UTF-8 cannot encode.

export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\0");

/** Replaces what cannot be stored by U+FFFD. */
export const toStorableText = (text: string): string =>
  text.replaceAll("\0", "\ufffd").toWellFormed();

/** Returns a copy of a JSON value, with names and texts that can be stored. */
export function toStorable(value: unknown): unknown {
  if (typeof value === "string") return toStorableText(value);
  if (Array.isArray(value)) return value.map(toStorable);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [toStorableText(name), toStorable(inner)]),
  );
}
