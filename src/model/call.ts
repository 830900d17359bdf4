// An API Call: the HTTP request to make.
import type { Static } from "typebox";
import { defineResource } from "./resource.ts";
import {
  Description,
  EXAMPLE,
  Flag,
  Hostname,
  LIMITS,
  Name,
  OWNERSHIP,
  Pairs,
  Tags,
  mark,
  nullable,
  readOnly,
  withDefault,
  Id,
} from "./fields.ts";
import { Type } from "./type.ts";

// RFC 9110 section 5.6.2: a method is a token.
const Method = Type.String({
  pattern: "^[!#$%&'*+\\-.^_`|~0-9A-Za-z]{1,32}$",
  examples: ["POST"],
  fault: (shown: string) => `${shown} is not an HTTP method`,
});

export const UrlField = Type.Refine(
  Type.String({
    maxLength: 16 * 1024,
    examples: [EXAMPLE.url],
    fault: (shown: string) => `${shown} is not a valid http or https URL`,
  }),
  (url) => hostOf(url) !== undefined,
);

const text = nullable(Type.String({ maxLength: LIMITS.description }));

export const CallSchema = Type.Object(
  {
    id: readOnly(Id),
    meta: Type.Object(
      {
        name: Name,
        description: Description,
        tags: Tags,
        ...OWNERSHIP,
        domain: readOnly(mark(Hostname, { description: "host of request.url" })),
        accept: withDefault(text, null),
        content_type: withDefault(text, null),
      },
      { additionalProperties: false },
    ),
    access: Type.Object(
      { settings: Flag, results: Flag, stats: Flag, org: Flag },
      { additionalProperties: false },
    ),
    request: Type.Object(
      {
        method: Method,
        url: UrlField,
        parameters: Pairs,
        headers: Pairs,
        body: withDefault(nullable(Type.String({ maxLength: LIMITS.callBody })), null),
        auth_id: withDefault(nullable(Id), null),
        token_id: withDefault(nullable(Id), null),
      },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false },
);

export type Call = Static<typeof CallSchema>;

export const callResource = defineResource({
  kind: "call",
  label: "API Call",
  schema: CallSchema,
  derive: (call) => ({
    ...call,
    meta: { ...call.meta, domain: hostOf(call.request.url) ?? "" },
    request: { ...call.request, method: call.request.method.toUpperCase() },
  }),
  sharing: (call) => ({
    org: call.access.org,
    community: call.access.settings,
  }),
  filters: (call) => ({
    domain: call.meta.domain,
    auth_id: call.request.auth_id,
    token_id: call.request.token_id,
  }),
});

// Variables in a URL: %%NAME%%, {{name}} (braces plain or percent-encoded) and __NAME__. A name has no
// opening brace, so that each is read once however many there are.
const VARIABLE =
  /%%\w+%%|\{\{[^{}/?#\r\n]+\}\}|(?:%7B){2}(?:(?!%7B)[^{}/?#\r\n])+?(?:%7D){2}|__\w+__/gi;

/** The host of an http or https URL, otherwise undefined. Allows variables after the scheme. */
export function hostOf(url: string): string | undefined {
  const [, scheme = "", authority = "", rest = ""] =
    /^(https?:\/\/)([^/?#]*)(.*)$/is.exec(url) ?? [];
  const host = authority.replace(/:[^:\]]*$/, "");
  const port = authority.slice(host.length);
  const filledIn = [scheme, host, port.replace(VARIABLE, "1"), rest]
    .join("")
    .replace(VARIABLE, "v");
  if (host === "" || /[@\\]/.test(authority)) return undefined;
  if (/[\s\p{Cc}]/u.test(filledIn) || !URL.canParse(filledIn)) return undefined;
  const { hostname, port: number } = new URL(filledIn);
  if (number === "0") return undefined;
  return host.search(VARIABLE) === -1 ? hostname : host;
}
