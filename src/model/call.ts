// An API Call: the HTTP request to be made.
import { Type } from "typebox";
import type { Static } from "typebox";
import { defineResource } from "./resource.ts";
import {
  Description,
  Flag,
  LIMITS,
  Name,
  OWNERSHIP,
  Pairs,
  Tags,
  nullable,
  readOnly,
  withDefault,
  Id,
} from "./fields.ts";

// RFC 9110 section 5.6.2: a method is a token.
const Method = Type.String({
  pattern: "^[!#$%&'*+\\-.^_`|~0-9A-Za-z]{1,32}$",
  fault: (shown: string) => `${shown} is not an HTTP method`,
});

const Url = Type.Refine(
  Type.String({
    maxLength: 16 * 1024,
    fault: (shown: string) => `${shown} is not a valid http or https URL`,
  }),
  (url) => hostOf(url) !== undefined,
);

const text = nullable(Type.String({ maxLength: LIMITS.description }));

export const CallSchema = Type.Object(
  {
    id: readOnly(Type.String()),
    meta: Type.Object(
      {
        name: Name,
        description: Description,
        tags: Tags,
        ...OWNERSHIP,
        domain: readOnly(Type.String({ description: "host of request.url" })),
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
        url: Url,
        parameters: Pairs,
        headers: Pairs,
        body: withDefault(
          nullable(Type.String({ maxLength: LIMITS.callBody })),
          null,
        ),
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
  }),
});

/** The host of an http or https URL, or undefined where it is none. Variables may stand anywhere after the scheme. */
export function hostOf(url: string): string | undefined {
  if (!/^https?:\/\/[^/?#\s]/i.test(url) || /[\s\u0000-\u001f\u007f]/.test(url))
    return undefined;
  if (!URL.canParse(url)) return authorityWithVariables(url);
  const { hostname, username, password } = new URL(url);
  if (username !== "" || password !== "" || hostname === "") return undefined;
  return hostname;
}

function authorityWithVariables(url: string): string | undefined {
  const authority = /^https?:\/\/([^/?#]+)/i.exec(url)?.[1];
  return authority !== undefined &&
    /%%\w+%%|\{\{[^{}]+\}\}|__\w+__/.test(authority)
    ? authority.replace(/:\d+$/, "")
    : undefined;
}
