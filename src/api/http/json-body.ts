// Parses request bodies: JSON objects in UTF-8, up to a size limit. Rejects anything that JSON
// parsers disagree on.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { invalid } from "../../model/errors.ts";
import { isObject } from "../../model/json.ts";
import { show, unexpected } from "../../model/validate.ts";
import { HttpError } from "./errors.ts";

export const MAX_BODY_BYTES = 1024 * 1024;
const MAX_DEPTH = 32;
/** Per body: a report of 1 MiB has fewer. */
const MAX_VALUES = 40_000;
const MAX_PROPERTIES = 5000;

// Names with a special meaning in JavaScript.
const FORBIDDEN_NAMES = new Set(["__proto__", "constructor", "prototype"]);

/** Makes the server parse JSON bodies, and refuse any other type unless the body is empty. */
export function acceptJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  const options = { parseAs: "buffer", bodyLimit: MAX_BODY_BYTES } as const;
  app.addContentTypeParser(
    "application/json",
    options,
    async ({ headers }: FastifyRequest, body: Buffer) => {
      const coding = headers["content-encoding"] ?? "identity";
      if (coding.trim().toLowerCase() !== "identity")
        throw new HttpError(
          415,
          `Content-Encoding ${show(coding)} is not supported; send the body uncompressed`,
        );
      return parseJsonBody(body);
    },
  );
  // Some clients name a type, such as that of a form, and then send nothing.
  app.addContentTypeParser("*", options, async (request: FastifyRequest, body: Buffer) => {
    if (body.length === 0) return undefined;
    const given = request.headers["content-type"] ?? "";
    throw new HttpError(415, `Content-Type ${show(given)} is not supported; send application/json`);
  });
}

/** Returns undefined for an empty body. Ignores a byte order mark. Throws `invalid`. */
export function parseJsonBody(bytes: Uint8Array): Record<string, unknown> | undefined {
  if (bytes.length === 0) return undefined;
  const text = decode(bytes);
  checkSize(bytes);
  const value = parse(text);
  if (!isObject(value)) throw invalid(`body: ${show(value)} is not of type object`);
  checkTokens(text);
  return value;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    throw invalid("the body is not valid UTF-8", { cause });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalid(`the body is not valid JSON: ${(cause as Error).message}`, { cause });
  }
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];

/** Checks a body before it is parsed, at a fraction of the cost of parsing. Throws `invalid`. */
function checkSize(bytes: Uint8Array): void {
  let [commas, depth, inString] = [0, 0, false];
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) inString = !inString;
    else if (byte === BACKSLASH) at += 1;
    else if (inString) continue;
    else if (byte === COMMA) commas += 1;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth -= 1;
    if (commas >= MAX_VALUES) throw invalid(`the body has more than ${MAX_VALUES} values`);
    if (depth > MAX_DEPTH) throw invalid(`the body is nested deeper than ${MAX_DEPTH} levels`);
  }
}

/** An object or array that has not been closed yet. */
interface Level {
  /** The property names so far; absent for an array. */
  readonly names?: Set<string>;
  /** Its name or index in the level above. */
  readonly place: string | number;
  /** The index of the current value. */
  at: number;
}

const placeIn = (above: Level | undefined, last: string): string | number =>
  above && !above.names ? above.at : last;

/** Checks what JSON.parse hides or accepts: names, and strings that PostgreSQL rejects. */
function checkTokens(json: string): void {
  const open: Level[] = [];
  let last = "";
  for (let at = 0; at < json.length; at += 1) {
    const character = json[at];
    if (character === "{")
      open.push({ names: new Set(), place: placeIn(open.at(-1), last), at: 0 });
    else if (character === "[") open.push({ place: placeIn(open.at(-1), last), at: 0 });
    else if (character === "}" || character === "]") open.pop();
    else if (character === ",") (open.at(-1) as Level).at += 1;
    else if (character === ":") checkName(open, last);
    else if (character === '"') {
      const end = endOfString(json, at);
      last = toText(json.slice(at, end + 1));
      checkText(last);
      at = end;
    }
  }
}

/** Returns the index of the quote that ends the string starting at `start`. */
function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
  return at;
}

const toText = (token: string): string =>
  token.includes("\\") ? (JSON.parse(token) as string) : token.slice(1, -1);

function checkName(open: readonly Level[], name: string): void {
  if (FORBIDDEN_NAMES.has(name)) throw invalid(unexpected(pointerTo(open), [name]));
  const seen = open.at(-1)?.names;
  if (seen?.has(name)) throw invalid(`the property ${show(name)} is given more than once`);
  seen?.add(name);
  if (seen && seen.size > MAX_PROPERTIES)
    throw invalid(`an object in the body has more than ${MAX_PROPERTIES} properties`);
}

/** Returns a JSON Pointer to the last of these levels; long names are cut for the message. */
const pointerTo = (open: readonly Level[]): string =>
  open
    .slice(1)
    .map(({ place }) => String(place).slice(0, 100).replaceAll("~", "~0").replaceAll("/", "~1"))
    .map((step) => `/${step}`)
    .join("");

function checkText(text: string): void {
  if (text.includes("\0")) throw invalid("a string in the body contains a NUL character");
  if (!text.isWellFormed()) throw invalid("a string in the body contains a lone surrogate");
}
