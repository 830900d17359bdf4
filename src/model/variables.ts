// Variables in a call: %%NAME%% (and __NAME__ in a URL) for context and system values, {{name}} for environment values.
// One pass: what is filled in is never looked at again.

export interface Variable {
  readonly value: string;
  readonly secret: boolean;
}

export interface Scope {
  /** What `%%NAME%%` stands for; the name is in upper case. */
  system(name: string): Variable | undefined;
  /** What `{{name}}` stands for. */
  environment(name: string): Variable | undefined;
}

/** Where a value lands, and so how it is encoded. */
export type Landing = "text" | "url" | "json" | "form" | "xml";

export interface Expansion {
  /** Throws a `VariableFault`. */
  expand(text: string, landing: Landing): string;
  /** Counts a value among the secrets. */
  hide(value: string): void;
  /** Secret values that were filled in. */
  readonly secrets: ReadonlySet<string>;
  /** As they were written; a name without a value stays as it is. */
  readonly unknown: ReadonlySet<string>;
}

/** The message is a sentence for the user, and holds no value. */
export class VariableFault extends Error {}

/** A text does not grow beyond this by what is filled in. */
export const MAX_EXPANDED_LENGTH = 4 * 1024 * 1024;

const PERCENTS = String.raw`%%(\w+)%%`;
const BRACES = String.raw`\{\{([^{}\r\n]{1,300}?)\}\}|(?:%7B){2}([^{}\r\n]{1,300}?)(?:%7D){2}`;
const UNDERSCORES = String.raw`__([A-Za-z0-9]+(?:_[A-Za-z0-9]+)*)__`;

const IN_TEXT = new RegExp(`${PERCENTS}|${BRACES}`, "gi");
const IN_URL = new RegExp(`${PERCENTS}|${BRACES}|${UNDERSCORES}`, "gi");

interface Reference {
  readonly written: string;
  readonly variable: Variable | undefined;
  /** `__NAME__` is a reference only where the name is known. */
  readonly weak: boolean;
}

export function createExpansion(scope: Scope): Expansion {
  const secrets = new Set<string>();
  const unknown = new Set<string>();

  const valueOf = ({ written, variable, weak }: Reference) => {
    if (!variable && !weak) unknown.add(written);
    if (variable?.secret) secrets.add(variable.value);
    return variable?.value;
  };

  return {
    secrets,
    unknown,
    hide: (value) => void secrets.add(value),
    expand(text, landing) {
      const pattern = landing === "url" ? IN_URL : IN_TEXT;
      const encoder = createEncoder(landing);
      const pieces: string[] = [];
      let [length, read] = [0, 0];
      const add = (piece: string): void => {
        length += piece.length;
        if (length > MAX_EXPANDED_LENGTH)
          throw new VariableFault(
            `with its variables filled in, a text is longer than ${MAX_EXPANDED_LENGTH} characters`,
          );
        pieces.push(piece);
      };
      for (const match of text.matchAll(pattern)) {
        const before = text.slice(read, match.index);
        encoder.pass(before);
        add(before);
        const reference = referenceOf(match, scope);
        const value = valueOf(reference);
        if (value === undefined) encoder.leave(reference.written);
        add(
          value === undefined
            ? reference.written
            : encoder.encode(value, reference.written),
        );
        read = match.index + match[0].length;
      }
      add(text.slice(read));
      return pieces.join("");
    },
  };
}

function referenceOf(match: RegExpMatchArray, scope: Scope): Reference {
  const [written, percents, braces, encodedBraces, underscores] = match;
  const system = percents ?? underscores;
  if (system !== undefined)
    return {
      written,
      variable: scope.system(system.toUpperCase()),
      weak: underscores !== undefined,
    };
  const name = braces ?? decoded(encodedBraces ?? "");
  const variable = scope.environment(name.trim());
  return { written, variable, weak: false };
}

/** The names that `{{name}}` stands for in the texts. */
export function environmentNames(texts: Iterable<string>): string[] {
  const names = new Set<string>();
  for (const text of texts)
    for (const [, , braces, encodedBraces] of text.matchAll(IN_TEXT)) {
      const name = braces ?? (encodedBraces && decoded(encodedBraces));
      if (name !== undefined) names.add(name.trim());
    }
  return [...names];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Told of all text around the values, in order, so that it knows where a value lands. */
interface Encoder {
  pass(text: string): void;
  /** A name without a value. */
  leave(written: string): void;
  encode(value: string, written: string): string;
}

function createEncoder(landing: Landing): Encoder {
  if (landing === "url") return createUrlEncoder();
  if (landing === "json") return createJsonEncoder();
  const encode = landing === "form" ? asForm : landing === "xml" ? asXml : asIs;
  return { pass: () => undefined, leave: () => undefined, encode };
}

const asIs = (value: string): string => value;

const percentEncoded = (value: string): string =>
  encodeURIComponent(value.toWellFormed());

/** WHATWG URL, application/x-www-form-urlencoded: a space is a plus sign. */
const asForm = (value: string): string =>
  percentEncoded(value).replaceAll("%20", "+");

const XML: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};
const asXml = (value: string): string =>
  value.replace(/[&<>"']/g, (character) => XML[character] ?? character);

const HOST = /^[^\s\p{Cc}/?#@\\%]+$/u;

// WHATWG URL takes one for a step within the path, however it is encoded.
const DOT_SEGMENT = /^\.{1,2}$/;

/** Within scheme, host and port a value stands as it is, and cannot bring the host to an end. */
function createUrlEncoder(): Encoder {
  let passed = "";
  let inAuthority = true;
  return {
    pass(text) {
      if (!inAuthority) return;
      passed += text;
      inAuthority = !/^\w+:\/\/[^/?#]*[/?#]/.test(passed);
    },
    leave(written) {
      if (inAuthority && !written.startsWith("__"))
        throw new VariableFault("the host of the URL is incomplete");
    },
    encode(value, written) {
      if (!inAuthority && DOT_SEGMENT.test(value))
        throw new VariableFault(`the value of ${written} is a dot segment`);
      if (!inAuthority) return percentEncoded(value);
      if (!HOST.test(value))
        throw new VariableFault(`the value of ${written} is no host`);
      passed += value;
      return value;
    },
  };
}

/** Within a string a value is escaped; outside one it stands as it is where it is JSON, and becomes a string otherwise. */
function createJsonEncoder(): Encoder {
  let inString = false;
  return {
    leave: () => undefined,
    pass(text) {
      for (const [token] of text.matchAll(/\\.|"/gs))
        if (token === '"') inString = !inString;
    },
    encode(value) {
      const quoted = JSON.stringify(value);
      if (inString) return quoted.slice(1, -1);
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

/** How values are encoded in a body: by its content type, or where none is given, by whether it is JSON around them. */
export function landingOfBody(
  body: string,
  contentType: string | undefined,
): Landing {
  const type = contentType?.split(";")[0]?.trim().toLowerCase();
  if (type === undefined || type === "")
    return isJson(body.replace(IN_TEXT, "1")) ? "json" : "text";
  if (/[/+]json$/.test(type)) return "json";
  if (/[/+]xml$/.test(type)) return "xml";
  return type === "application/x-www-form-urlencoded" ? "form" : "text";
}
