// Formats the bodies of a result.

/** Indents a JSON object or array; undefined if the text is neither. */
export function prettyJson(text: string): string | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : undefined;
  } catch {
    return undefined;
  }
}
