// Variables in a call: %%NAME%% (and __NAME__ in a URL) for context and system values, {{name}} for
// environment values. One pass: values are not expanded again.
import { createValueEncoder, isJson, VariableFault } from "./encode-value.ts";
import type { Landing } from "./encode-value.ts";
import { formatInstant } from "./instant.ts";
import { percentDecoded } from "./percent-encoding.ts";

export interface Variable {
  /** Null becomes `null` in JSON outside strings, and empty text elsewhere. */
  readonly value: string | null;
  readonly secret: boolean;
}

export interface Scope {
  /** Returns the variable for `%%NAME%%`; the name is in upper case. */
  system(name: string): Variable | undefined;
  /** Returns the variable for `{{name}}`. */
  environment(name: string): Variable | undefined;
}

export interface Expanded {
  readonly text: string;
  /** Whether the text contains a secret, however short. */
  readonly isSecret: boolean;
}

export type Expansion = ReturnType<typeof createExpansion>;

/** In characters, over all expanded texts of a call. */
export const MAX_EXPANDED_LENGTH = 4 * 1024 * 1024;

const PERCENTS = String.raw`%%(\w+)%%`;
const BRACES = String.raw`\{\{([^{}\r\n]{1,300}?)\}\}|(?:%7B){2}((?:(?!%7B)[^{}\r\n]){1,300}?)(?:%7D){2}`;
const UNDERSCORES = String.raw`__([A-Za-z0-9]+(?:_[A-Za-z0-9]+)*)__`;

const IN_TEXT = new RegExp(`${PERCENTS}|${BRACES}`, "gi");
/** Each match is one reference; names in braces may have any characters but line breaks. */
export const IN_URL = new RegExp(`${PERCENTS}|${BRACES}|${UNDERSCORES}`, "gi");

interface Reference {
  readonly written: string;
  readonly variable: Variable | undefined;
  /** `__NAME__` is a reference only where the name is known. */
  readonly weak: boolean;
}

export function createExpansion(scope: Scope) {
  const secrets = new Set<string>();
  const unknown = new Set<string>();
  let length = 0;

  const valueOf = ({ written, variable, weak }: Reference) => {
    if (!variable && !weak) unknown.add(written);
    if (variable?.secret && variable.value) secrets.add(variable.value);
    return variable?.value;
  };

  return {
    /** The secret values in the expanded texts. */
    secrets: secrets as ReadonlySet<string>,
    /** References without a value, which stay as written. */
    unknown: unknown as ReadonlySet<string>,
    /** Adds a value to the secrets. */
    hide: (value: string): void => void secrets.add(value),
    /** Throws a `VariableFault`. */
    expand(text: string, landing: Landing): Expanded {
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
  const name = braces ?? percentDecoded(encodedBraces ?? "");
  const variable = scope.environment(name.trim());
  return { written, variable, weak: false };
}

/** Replaces each reference with a filler; for any text but a URL. */
export const withoutReferences = (text: string, filler: string): string =>
  text.replace(IN_TEXT, filler);

/** Lists the names in the `{{name}}` references of the texts. */
export function environmentNames(texts: Iterable<string>): string[] {
  const names = new Set<string>();
  for (const text of texts)
    for (const [, , braces, encodedBraces] of text.matchAll(IN_TEXT)) {
      const name = braces ?? (encodedBraces && percentDecoded(encodedBraces));
      if (name !== undefined) names.add(name.trim());
    }
  return [...names];
}

// One JSON document or several in sequence: application/x-ndjson, application/jsonl,
// application/json-seq; application/x-amz-json-1.1; application/json+protobuf.
const JSON_TYPE = /[/+](?:x-)?(?:nd|ld|amz-)?json(?:l|lines|-seq|-1\.[01]|\+protobuf)?$/;

/**
 * How values in a body are encoded: by its content type; if it has none, as JSON if it is a JSON
 * object, array or string. `{{payload}}` alone may become anything.
 */
export function landingOfBody(body: string, contentType: string | undefined): Landing {
  const type = contentType?.split(";")[0]?.trim().toLowerCase();
  if (type === undefined || type === "") {
    const filled = withoutReferences(body, "1");
    return /^\s*["[{]/.test(filled) && isJson(filled) ? "json" : "text";
  }
  if (JSON_TYPE.test(type)) return "json";
  if (/[/+]xml$/.test(type)) return "xml";
  return type === "application/x-www-form-urlencoded" ? "form" : "text";
}

/** The values of a call's system variables; null for those without a value. */
export interface CallFacts {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Returns a random UUID, the same one each time. */
  readonly guid: () => string;
  readonly result_id: string;
  /** The id of the run: `result_id`, or that of the workflow's result. */
  readonly run_id: string;
  readonly call_id: string;
  readonly call_name: string;
  readonly location_id: string;
  readonly workflow_id: string | null;
  readonly workflow_name: string | null;
  readonly client_id: string | null;
  readonly client_secret: string | null;
  readonly access_token: string | null;
}

export interface GivenValues {
  /** By name in upper case. */
  readonly context: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string>>;
  readonly customVariables: Readonly<Record<string, unknown>>;
}

/** Context overrides the clock, the GUID and names, never ids or credentials. */
export function scopeOf(facts: CallFacts, given: GivenValues): Scope {
  const { context, environment, customVariables } = given;
  return {
    system(name) {
      for (const [table, secret] of RESERVED)
        if (Object.hasOwn(table, name)) return variable(table[name]?.(facts), secret);
      const value = Object.hasOwn(context, name) ? context[name] : undefined;
      if (value !== undefined && !isItself(name, value))
        return { value: textOf(value), secret: false };
      return Object.hasOwn(ORDINARY, name) ? variable(ORDINARY[name]?.(facts), false) : undefined;
    },
    environment(name) {
      const values = [environment, customVariables].find((each) => Object.hasOwn(each, name));
      return values && { value: textOf(values[name]), secret: true };
    },
  };
}

const variable = (value: string | null | undefined, secret: boolean): Variable | undefined =>
  value === null || value === undefined ? undefined : { value, secret };

function textOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  return value === null || value === undefined ? null : JSON.stringify(value);
}

/** Clients send `{"DATETIME": "%%DATETIME%%"}` to get the system's value. */
const isItself = (name: string, value: unknown): boolean =>
  typeof value === "string" && value.toUpperCase() === `%%${name}%%`;

type Values = Readonly<Record<string, (facts: CallFacts) => string | null>>;

const datetimeOf = ({ now }: CallFacts): string => formatInstant(now).replace(/Z$/, "");

const ORDINARY: Values = {
  DATETIME: datetimeOf,
  DATE: (facts) => datetimeOf(facts).slice(0, 10),
  TIME: (facts) => datetimeOf(facts).slice(11, 19),
  UNIXTIME: ({ now }) => String(Math.floor(now / 1000)),
  GUID: ({ guid }) => guid(),
  CALL_NAME: ({ call_name }) => call_name,
  WORKFLOW_NAME: ({ workflow_name }) => workflow_name,
};

const IDS: Values = {
  RESULT_ID: ({ result_id }) => result_id,
  CALL_RESULT_ID: ({ result_id }) => result_id,
  WORKFLOW_RESULT_ID: ({ run_id }) => run_id,
  TEST_RUN_RESULT_ID: ({ run_id }) => run_id,
  CALL_ID: ({ call_id }) => call_id,
  WORKFLOW_ID: ({ workflow_id }) => workflow_id,
  LOCATION_ID: ({ location_id }) => location_id,
};

const CREDENTIALS: Values = {
  CLIENT_ID: ({ client_id }) => client_id,
  CLIENT_SECRET: ({ client_secret }) => client_secret,
  ACCESS_TOKEN: ({ access_token }) => access_token,
};

const RESERVED: readonly (readonly [Values, secret: boolean])[] = [
  [IDS, false],
  [CREDENTIALS, true],
];
