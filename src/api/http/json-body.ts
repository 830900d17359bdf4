// Reads request bodies: JSON objects in UTF-8, with everything refused that readers are known to
// disagree on.
import { invalid } from "../../model/errors.ts";
import { show } from "../../model/validate.ts";

const MAX_DEPTH = 32;

// They mean something to JavaScript itself.
const FORBIDDEN_NAMES = new Set(["__proto__", "constructor", "prototype"]);

/** Undefined for an empty body. A byte order mark is passed over. Throws `invalid`. */
export function parseJsonBody(bytes: Uint8Array): Record<string, unknown> | undefined {
  if (bytes.length === 0) return undefined;
  const text = decode(bytes);
  const value = parse(text);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalid(`body: ${show(value)} is not of type object`);
  checkTokens(text);
  return value as Record<string, unknown>;
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw invalid("the body is not valid UTF-8", { cause });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalid(`the body is not valid JSON: ${(cause as Error).message}`, {
      cause,
    });
  }
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/g;

/**
 * What parsing hides or lets pass: duplicate names, depth, and strings that not every database can
 * hold.
 */
function checkTokens(json: string): void {
  const open: (Set<string> | undefined)[] = [];
  let last = "";
  for (const [token] of json.matchAll(TOKEN)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(undefined);
    else if (token === "}" || token === "]") open.pop();
    else if (token === ":") checkName(open.at(-1), toText(last));
    else if (token !== ",") checkText(toText(token));
    if (open.length > MAX_DEPTH)
      throw invalid(`the body is nested deeper than ${MAX_DEPTH} levels`);
    last = token;
  }
}

const toText = (token: string): string =>
  token.includes("\\") ? (JSON.parse(token) as string) : token.slice(1, -1);

function checkName(seen: Set<string> | undefined, name: string): void {
  if (FORBIDDEN_NAMES.has(name))
    throw invalid(`${show(name)} is not allowed as the name of a property`);
  if (seen?.has(name)) throw invalid(`the property ${show(name)} is given more than once`);
  seen?.add(name);
}

function checkText(text: string): void {
  if (text.includes("\0")) throw invalid("a string of the body contains a NUL character");
  if (!text.isWellFormed()) throw invalid("a string of the body contains half a surrogate pair");
}
