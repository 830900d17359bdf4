// Hides secret values wherever they stand in a text, also in the forms that they take on the wire.

export const MASK = "********";

/** A shorter value is no secret, and hiding it would leave nothing of the text. */
const SHORTEST_SECRET = 4;

/** A function that masks these values; longer ones first, so that a secret inside another leaves no rest. */
export function createMask(
  secrets: Iterable<string>,
): (text: string) => string {
  const forms = [...new Set([...secrets].flatMap(formsOf))]
    .filter((form) => form.length >= SHORTEST_SECRET)
    .toSorted((a, b) => b.length - a.length);
  return (text) =>
    forms.reduce((rest, form) => rest.replaceAll(form, () => MASK), text);
}

function formsOf(secret: string): string[] {
  if (secret.length < SHORTEST_SECRET) return [];
  const encoded = encodeURIComponent(secret.toWellFormed());
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encoded,
    encoded.replaceAll("%20", "+"),
    encoded.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    encoded.replace(
      /[!'()*]/g,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    ),
    new TextEncoder().encode(secret).reduce(
      // As the header of a result shows it: one character for each byte.
      (bytes, byte) => bytes + String.fromCharCode(byte),
      "",
    ),
  ];
}
