// The code of an error of Node or of a library, such as ENOENT.

/** "" if it has none. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

/** The code; for an error without one, its text. */
export const codeOrText = (error: unknown): string => codeOf(error) || String(error);
