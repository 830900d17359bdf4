// Hides secret values wherever they stand in a text: as they are, or in a form that they take on the wire and on the
// way back. The text is read through its encodings, since there are more ways to write a value than could be listed.

export const MASK = "********";

/** A shorter value is no secret, and hiding it would leave nothing of the text. */
const SHORTEST_SECRET = 4;

/** How often a text may be encoded, one way or another: JSON within JSON, a URL within a URL. */
const MOST_ENCODINGS = 4;

/** A function that masks these values, spaces around them aside. What secrets share is masked as one. */
export function createMask(
  secrets: Iterable<string>,
): (text: string) => string {
  const forms = [...new Set([...secrets].flatMap(formsOf))];
  if (forms.length === 0) return (text) => text;
  return (text) => {
    const places = layersOf(text).flatMap((layer) => placesIn(layer, forms));
    return places.length === 0 ? text : withoutPlaces(text, places);
  };
}

function formsOf(secret: string): string[] {
  const value = secret.trim();
  if (value.length < SHORTEST_SECRET) return [];
  return [
    value,
    value.toWellFormed(),
    value.replaceAll(" ", "+"),
    value.toLowerCase(),
    hostOf(value),
  ]
    .flatMap(readingsOf)
    .flatMap((form) => layersOf(form).map(({ text }) => text))
    .filter((form) => form.trim().length >= SHORTEST_SECRET);
}

/** As a URL shows a host that was given. */
function hostOf(value: string): string {
  const url = `http://${value}`;
  return /[\s/?#@\\%]/.test(value) || !URL.canParse(url)
    ? ""
    : new URL(url).host;
}

/** As it is, and in UTF-8 that is read as if it were in Latin-1, which has two meanings. */
function readingsOf(text: string): string[] {
  const utf8 = new TextEncoder().encode(text);
  const latin1 = utf8.reduce(
    (bytes, byte) => bytes + String.fromCharCode(byte),
    "",
  );
  return [text, latin1, WINDOWS_1252.decode(utf8)];
}

/** What browsers and charsets mean by Latin-1 (WHATWG Encoding). */
const WINDOWS_1252 = new TextDecoder("windows-1252");
/** The character that each byte is in it. */
const CHARACTERS = WINDOWS_1252.decode(
  Uint8Array.from({ length: 256 }, (_, byte) => byte),
);

/** A text with some of its encodings undone. */
interface Layer {
  readonly text: string;
  /** Where each of its characters begins in the text as it was given, and where the last one ends. */
  readonly begins?: Uint32Array;
}

// Percent-encoding of one character in UTF-8 or Latin-1; entities of XML and HTML; escapes of JSON and JavaScript.
const ESCAPE = new RegExp(
  [
    /%[cd][\da-f]%[89ab][\da-f]|%e[\da-f](?:%[89ab][\da-f]){2}/,
    /%f[0-7](?:%[89ab][\da-f]){3}|%[\da-f]{2}|%u[\da-f]{4}/,
    /&(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[\da-f]{1,6});/,
    /\\(?:u[\da-f]{4}|u\{[\da-f]{1,6}\}|x[\da-f]{2}|["'\\/bfnrt])/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gi",
);

/** From the text as it was given to the one with the most encodings undone. */
function layersOf(text: string): Layer[] {
  const layers: Layer[] = [{ text }];
  while (layers.length <= MOST_ENCODINGS) {
    const decoded = decode(layers.at(-1) as Layer);
    if (!decoded) break;
    layers.push(decoded);
  }
  return layers;
}

/** Undefined where nothing is encoded. */
function decode({ text, begins }: Layer): Layer | undefined {
  if (text.search(ESCAPE) === -1) return undefined;
  const decoded: string[] = [];
  const origins = new Uint32Array(text.length + 1);
  let [read, length] = [0, 0];
  const copyUntil = (end: number): void => {
    decoded.push(text.slice(read, end));
    for (; read < end; read += 1) origins[length++] = begins?.[read] ?? read;
  };
  for (const { 0: escape, index } of text.matchAll(ESCAPE)) {
    copyUntil(index);
    const character = characterOf(escape);
    decoded.push(character);
    origins.fill(begins?.[index] ?? index, length, length + character.length);
    length += character.length;
    read += escape.length;
  }
  copyUntil(text.length);
  origins[length] = begins?.[text.length] ?? text.length;
  return { text: decoded.join(""), begins: origins };
}

const NAMED: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
  "\\b": "\b",
  "\\f": "\f",
  "\\n": "\n",
  "\\r": "\r",
  "\\t": "\t",
};

/** Of what encodes none, itself. */
function characterOf(escape: string): string {
  const lower = escape.toLowerCase();
  const code = /^(?:\\u\{?|\\x|%u|&#x)([\da-f]+)/.exec(lower)?.[1];
  if (code !== undefined) return fromCode(Number.parseInt(code, 16), escape);
  if (lower.startsWith("%")) return percentDecoded(escape);
  if (lower.startsWith("&#"))
    return fromCode(Number(lower.slice(2, -1)), escape);
  return NAMED[lower] ?? escape.slice(1);
}

const fromCode = (code: number, otherwise: string): string =>
  code <= 0x10ffff ? String.fromCodePoint(code) : otherwise;

function percentDecoded(escape: string): string {
  if (escape.length === 3)
    return CHARACTERS.charAt(Number.parseInt(escape.slice(1), 16));
  try {
    return decodeURIComponent(escape);
  } catch {
    return escape;
  }
}

type Place = readonly [start: number, end: number];

function placesIn({ text, begins }: Layer, forms: readonly string[]): Place[] {
  const places: Place[] = [];
  for (const form of forms)
    for (
      let at = text.indexOf(form);
      at !== -1;
      at = text.indexOf(form, at + form.length)
    ) {
      const end = at + form.length;
      places.push([begins?.[at] ?? at, begins?.[end] ?? end]);
    }
  return places;
}

function withoutPlaces(text: string, places: readonly Place[]): string {
  const kept: string[] = [];
  let read = -1;
  for (const [start, end] of places.toSorted(([a], [b]) => a - b)) {
    if (start >= read) kept.push(text.slice(Math.max(read, 0), start), MASK);
    read = Math.max(read, end);
  }
  return kept.join("") + text.slice(read);
}
