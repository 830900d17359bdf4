// Percent-encodes and sorts strings that have one character per byte.

/** Escapes all but the unreserved characters (RFC 3986 section 2.3). */
export const encodeBytes = (bytes: string): string => bytes.replace(/[^\w\-.~]/g, escapeByte);

export const escapeByte = (byte: string): string =>
  `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;

/** A plus means a space. */
export const decodeBytes = (text: string): string =>
  text
    .replaceAll("+", " ")
    .replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

export const byBytes = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
