// The direction of text with names that users chose.

/**
 * Removes the characters of a text that change the direction of what follows them (UAX #9, sections
 * 2.1 to 2.5): in a sentence, a name must not rearrange the words after it.
 */
export const inOneDirection = (text: string): string =>
  text.replace(/[\u202A-\u202E\u2066-\u2069]/g, "");
