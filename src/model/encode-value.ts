// Encodes the values of variables for their place in the text.
import { percentEncoded } from "./percent-encoding.ts";

/** The kind of text that a value lands in. */
export type Landing = "text" | "url" | "json" | "form" | "xml";

/** Its message is shown to the user, and contains no value. */
export class VariableFault extends Error {}

/** Follows the text to know where each value lands. Throws a `VariableFault`. */
export interface ValueEncoder {
  /** Takes the text before a value. */
  pass(text: string): void;
  /** Takes a reference without a value, which stays as written. */
  leave(written: string): void;
  /** Null becomes `null` in JSON outside strings, and empty text elsewhere. */
  encode(value: string | null, written: string): string;
  end(rest: string): void;
}

export function createValueEncoder(landing: Landing): ValueEncoder {
  if (landing === "url") return createUrlEncoder();
  if (landing === "json") return { ...PLAIN, ...createJsonEncoder() };
  if (landing === "xml") return { ...PLAIN, ...createXmlEncoder() };
  if (landing === "text") return PLAIN;
  return { ...PLAIN, encode: (value) => asForm(value ?? "") };
}

const PLAIN: ValueEncoder = {
  pass: () => undefined,
  leave: () => undefined,
  encode: (value) => value ?? "",
  end: () => undefined,
};

/** WHATWG URL, application/x-www-form-urlencoded: a space is a plus sign. */
const asForm = (value: string): string => percentEncoded(value).replaceAll("%20", "+");

const HOST = /^[^\s\p{Cc}/?#@\\%]{1,255}$/u;

/** How a value may begin a URL: with the scheme or more, but no credentials or fragment. */
const BEGINNING = /^https?(?::\/\/(?:[^\s\p{Cc}/?#@\\%]{1,255}(?:[/?][^\s\p{Cc}#\\]*)?)?)?$/iu;

/** Includes the scheme. A host name has at most 253 characters (RFC 1035 section 2.3.4). */
const LONGEST_AUTHORITY = 300;

// WHATWG URL resolves dot segments, encoded ones too, and ignores control characters.
const DOT_SEGMENT = /^[\p{Cc} ]*(?:(?:\.|%2e)[\p{Cc} ]*){1,2}$/iu;

/**
 * Inserts a value at the beginning of the URL as it is. Any other value cannot leave the host or
 * the path segment that it is in, and cannot make a dot segment.
 */
function createUrlEncoder(): ValueEncoder {
  let part: "authority" | "path" | "rest" = "authority";
  // The authority or path segment so far, and the last reference filled into it.
  let [passed, filledIn] = ["", ""];
  const endSegment = (next = ""): void => {
    if (filledIn !== "" && DOT_SEGMENT.test(passed))
      throw new VariableFault(`the value of ${filledIn} makes a dot segment`);
    [passed, filledIn] = [next, ""];
  };
  const passPath = (text: string): void => {
    const [path = ""] = text.split(/[?#]/, 1);
    const [first = "", ...segments] = path.split(/[/\\]/);
    passed += first;
    for (const segment of segments) endSegment(segment);
    if (path.length === text.length) return;
    endSegment();
    part = "rest";
  };
  const pass = (text: string): void => {
    if (part === "path") return passPath(text);
    if (part === "rest") return;
    passed += text;
    const [authority] = /^\w+:\/\/[^/\\?#]*(?=[/\\?#])/.exec(passed) ?? [];
    if (authority === undefined) {
      if (passed.length > LONGEST_AUTHORITY)
        throw new VariableFault("the host of the URL is too long");
      return;
    }
    const path = passed.slice(authority.length);
    [part, passed, filledIn] = ["path", "", ""];
    passPath(path);
  };
  return {
    pass,
    leave(written) {
      if (part === "authority" && !written.startsWith("__"))
        throw new VariableFault("the host of the URL is incomplete");
      if (part !== "rest") passed += written;
    },
    encode(value, written) {
      const text = value ?? "";
      if (part === "authority" && passed === "") {
        if (!BEGINNING.test(text))
          throw new VariableFault(`the value of ${written} does not begin an http or https URL`);
        pass(text);
        return text;
      }
      if (part === "authority" && !HOST.test(text))
        throw new VariableFault(`the value of ${written} is not a host`);
      const encoded = part === "authority" ? text : percentEncoded(text);
      if (part !== "rest") passed += encoded;
      if (text !== "") filledIn = written;
      return encoded;
    },
    end(rest) {
      pass(rest);
      if (part === "path") endSegment();
    },
  };
}

/** Escapes a value inside a string. Elsewhere JSON stays as it is; other text becomes a string. */
function createJsonEncoder(): Pick<ValueEncoder, "pass" | "encode"> {
  let inString = false;
  return {
    pass(text) {
      for (const [token] of text.matchAll(/\\.|"/gs)) if (token === '"') inString = !inString;
    },
    encode(value) {
      const quoted = JSON.stringify(value ?? "");
      if (inString) return quoted.slice(1, -1);
      if (value === null) return "null";
      return isJson(value) ? value : quoted;
    },
  };
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const XML: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};
const asXml = (value: string): string =>
  value.replace(/[&<>"']/g, (character) => XML[character] ?? character);

const XML_ENDS: Readonly<Record<string, string>> = { "<![CDATA[": "]]>", "<!--": "-->" };

/** A CDATA section has no escapes: a value that could end it is placed between two sections. */
function createXmlEncoder(): Pick<ValueEncoder, "pass" | "encode"> {
  // The end of the section or comment that is open.
  let end: string | undefined;
  return {
    pass(text) {
      for (const [mark] of text.matchAll(/<!\[CDATA\[|\]\]>|<!--|-->/g))
        if (end === undefined || mark === end) end = XML_ENDS[mark];
    },
    encode(value) {
      const text = value ?? "";
      if (end !== "]]>") return asXml(text);
      return text.includes("]") ? `]]>${asXml(text)}<![CDATA[` : text;
    },
  };
}
