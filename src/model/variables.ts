// Variables in a call: %%NAME%% (and __NAME__ in a URL) for context and system values, {{name}} for
// environment values. One pass: what is filled in is never looked at again.
import { createValueEncoder, isJson, VariableFault } from "./encode-value.ts";
import type { Landing } from "./encode-value.ts";

export interface Variable {
  /** Null is JSON's, and nothing in any other text. */
  readonly value: string | null;
  readonly secret: boolean;
}

export interface Scope {
  /** What `%%NAME%%` stands for; the name is in upper case. */
  system(name: string): Variable | undefined;
  /** What `{{name}}` stands for. */
  environment(name: string): Variable | undefined;
}

export interface Expanded {
  readonly text: string;
  /** Whether a secret was filled in, however short. */
  readonly isSecret: boolean;
}

export interface Expansion {
  /** Throws a `VariableFault`. */
  expand(text: string, landing: Landing): Expanded;
  /** Counts a value among the secrets. */
  hide(value: string): void;
  /** Secret values that were filled in. */
  readonly secrets: ReadonlySet<string>;
  /** As they were written; a name without a value stays as it is. */
  readonly unknown: ReadonlySet<string>;
}

/** Characters that the texts of a call have together, those that something is filled into. */
export const MAX_EXPANDED_LENGTH = 4 * 1024 * 1024;

const PERCENTS = String.raw`%%(\w+)%%`;
const BRACES = String.raw`\{\{([^{}\r\n]{1,300}?)\}\}|(?:%7B){2}((?:(?!%7B)[^{}\r\n]){1,300}?)(?:%7D){2}`;
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
  let length = 0;

  const valueOf = ({ written, variable, weak }: Reference) => {
    if (!variable && !weak) unknown.add(written);
    if (variable?.secret && variable.value) secrets.add(variable.value);
    return variable?.value;
  };

  return {
    secrets,
    unknown,
    hide: (value) => void secrets.add(value),
    expand(text, landing) {
      const pattern = landing === "url" ? IN_URL : IN_TEXT;
      const matches = [...text.matchAll(pattern)];
      if (matches.length === 0) return { text, isSecret: false };
      const encoder = createValueEncoder(landing);
      const pieces: string[] = [];
      let [read, isSecret] = [0, false];
      const add = (piece: string): void => {
        length += piece.length;
        if (length > MAX_EXPANDED_LENGTH)
          throw new VariableFault(
            `with its variables filled in, the call is longer than ${MAX_EXPANDED_LENGTH} characters`,
          );
        pieces.push(piece);
      };
      for (const match of matches) {
        const before = text.slice(read, match.index);
        encoder.pass(before);
        add(before);
        const reference = referenceOf(match, scope);
        const value = valueOf(reference);
        const { written, variable } = reference;
        if (value === undefined) encoder.leave(written);
        if (value && variable?.secret) isSecret = true;
        add(value === undefined ? written : encoder.encode(value, written));
        read = match.index + match[0].length;
      }
      const rest = text.slice(read);
      encoder.end(rest);
      add(rest);
      return { text: pieces.join(""), isSecret };
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

// One document, or one after the other: application/x-ndjson, application/jsonl,
// application/json-seq.
const JSON_TYPE = /[/+](?:x-)?(?:nd)?json(?:l|lines|-seq)?$/;

/**
 * How values are encoded in a body: by its content type, or where none is given, by whether it is
 * JSON around them.
 */
export function landingOfBody(body: string, contentType: string | undefined): Landing {
  const type = contentType?.split(";")[0]?.trim().toLowerCase();
  if (type === undefined || type === "")
    return isJson(body.replace(IN_TEXT, "1")) ? "json" : "text";
  if (JSON_TYPE.test(type)) return "json";
  if (/[/+]xml$/.test(type)) return "xml";
  return type === "application/x-www-form-urlencoded" ? "form" : "text";
}
