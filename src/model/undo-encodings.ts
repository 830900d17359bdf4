// Reads a text through its encodings: percent-encoding, entities of XML and HTML, escapes of JSON
// and JavaScript.

/** How often a text may be encoded, one way or another: JSON within JSON, a URL within a URL. */
const MOST_ENCODINGS = 4;

/** Counts down, in characters read; what goes on below zero stops. */
export interface Work {
  left: number;
}
const WORK_OF_ESCAPE = 50;

/** What browsers and charsets mean by Latin-1 (WHATWG Encoding). */
export const WINDOWS_1252 = new TextDecoder("windows-1252");
/** The character that each byte is in it. */
const CHARACTERS = WINDOWS_1252.decode(Uint8Array.from({ length: 256 }, (_, byte) => byte));

/** A text with some of its encodings undone. */
export interface Layer {
  readonly text: string;
  /**
   * Where each of its characters begins in the text as it was given, and where the last one ends.
   */
  readonly begins?: Uint32Array;
}

// Percent-encoding of one character in UTF-8 or Latin-1; entities of XML and HTML; escapes of JSON
// and JavaScript.
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

/**
 * From the text as it was given to the one with the most encodings undone, while there is work
 * left.
 */
export function layersOf(text: string, work: Work): Layer[] {
  const layers: Layer[] = [];
  let layer: Layer | undefined = { text };
  while (layer) {
    work.left -= layer.text.length;
    if (work.left < 0) break;
    layers.push(layer);
    layer = layers.length <= MOST_ENCODINGS ? decode(layer, work) : undefined;
  }
  return layers;
}

/** Undefined where nothing is encoded. */
function decode({ text, begins }: Layer, work: Work): Layer | undefined {
  if (text.search(ESCAPE) === -1) return undefined;
  const decoded: string[] = [];
  const origins = new Uint32Array(text.length + 1);
  let [read, length] = [0, 0];
  const copyUntil = (end: number): void => {
    decoded.push(text.slice(read, end));
    for (; read < end; read += 1) origins[length++] = begins?.[read] ?? read;
  };
  for (const { 0: escape, index } of text.matchAll(ESCAPE)) {
    work.left -= WORK_OF_ESCAPE;
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
  if (lower.startsWith("&#")) return fromCode(Number(lower.slice(2, -1)), escape);
  return NAMED[lower] ?? escape.slice(1);
}

const fromCode = (code: number, otherwise: string): string =>
  code <= 0x10ffff ? String.fromCodePoint(code) : otherwise;

function percentDecoded(escape: string): string {
  if (escape.length === 3) return CHARACTERS.charAt(Number.parseInt(escape.slice(1), 16));
  try {
    return decodeURIComponent(escape);
  } catch {
    return escape;
  }
}
