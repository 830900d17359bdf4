// Searches texts by words.

/** Tells whether each of the words is somewhere in the texts. */
export function matches(texts: readonly (string | null | undefined)[], words: string): boolean {
  const whole = texts.join("\n").toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => whole.includes(word));
}
