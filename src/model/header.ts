// The headers that a call may set. The API rejects others, and the agent checks again: only the
// agent knows the variables' values.
import { isFramingHeader } from "./framing-headers.ts";
import { LIMITS, withDefault } from "./fields.ts";
import type { KeyValue } from "./fields.ts";
import { Type } from "./type.ts";
import { show } from "./validate.ts";
import { withoutReferences } from "./variables.ts";

/** RFC 9110 section 5.6.2: the characters of header names and methods, as a pattern. */
export const TOKEN_CHARACTER = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]";
const TOKEN = new RegExp(`^${TOKEN_CHARACTER}+$`);

export const isToken = (text: string): boolean => TOKEN.test(text);

// RFC 9110 section 5.5: a field value may contain no control character but the tab.
const CONTROL_CHARACTER = /[^\P{Cc}\t]/u;

export const hasControlCharacter = (value: string): boolean => CONTROL_CHARACTER.test(value);

/** Returns the name of a header that is given more than once, but may be given only once. */
export function repeatedName(headers: readonly KeyValue[]): string | undefined {
  const [first, second] = headers.filter(({ key }) => key.toLowerCase() === "host");
  return second && first?.key;
}

/** Variables may fill in a part of a name. */
function nameFault(name: string): string | undefined {
  if (!isToken(withoutReferences(name, "v"))) return "is not a valid header name";
  return isFramingHeader(name) ? "is set by the agent and cannot be overridden" : undefined;
}

export const HeaderName = Type.Refine(
  Type.String({
    maxLength: LIMITS.pair,
    examples: ["Accept"],
    fault: (shown: string, name: string) => `${shown} ${nameFault(name) ?? ""}`,
  }),
  (name) => nameFault(name) === undefined,
);

const HeaderValue = Type.Refine(
  Type.String({
    maxLength: LIMITS.pair,
    examples: ["application/json"],
    fault: (shown: string) =>
      `${shown} has a line break, NUL or another control character, which a header cannot have`,
  }),
  (value) => !hasControlCharacter(value),
);

const Header = Type.Object(
  { key: HeaderName, value: HeaderValue },
  { additionalProperties: false },
);

export const HeaderList = Type.Refine(
  Type.Array(Header, {
    maxItems: LIMITS.pairs,
    fault: (_shown: string, headers: readonly KeyValue[]) =>
      `${show(repeatedName(headers))} is given more than once`,
  }),
  (headers) => repeatedName(headers) === undefined,
);

export const HeaderPairs = withDefault(HeaderList, []);
