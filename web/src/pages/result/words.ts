// The bodies of a result as text.

/** JSON on lines, as it reads best; undefined where the text is none. */
export function prettyJson(text: string): string | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : undefined;
  } catch {
    return undefined;
  }
}
