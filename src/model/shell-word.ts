// Writes values as words of a shell.

/** Quotes a value for shells, if it needs quotes. */
export const shellWord = (value: string): string =>
  /^[\w@%+:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", String.raw`'\''`)}'`;

/**
 * Assigns a value, for shells and environment files. Shells expand no brackets here, and kubectl
 * would keep the quotes.
 */
export const assignment = (name: string, value: string): string =>
  `${name}=${/^[\w@%+:,./=[\]-]+$/.test(value) ? value : shellWord(value)}`;
