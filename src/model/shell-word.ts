// Writes values as words of a shell.

/** Quotes a value for shells and readers of environment files, if it needs quotes. */
export const shellWord = (value: string): string =>
  /^[\w@%+:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", String.raw`'\''`)}'`;
