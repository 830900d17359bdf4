// Percent-encoding, as URLs have it.

/** `encodeURIComponent`; a lone surrogate becomes U+FFFD, as in every URL. */
export const percentEncoded = (text: string): string => encodeURIComponent(text.toWellFormed());

/** Returns malformed text unchanged. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
