// An API Call: the HTTP request to make.
import type { Static } from "typebox";
import { defineResource } from "./resource.ts";
import {
  Description,
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
import { HeaderPairs, TOKEN_CHARACTER } from "./header.ts";
import { Type } from "./type.ts";
import { UrlField, hostOf } from "./url.ts";

const Method = Type.String({
  pattern: `^${TOKEN_CHARACTER}{1,32}$`,
  examples: ["POST"],
  fault: (shown: string) => `${shown} is not an HTTP method`,
});

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
        domain: readOnly(
          mark(Hostname, { description: "host of request.url, variables as written" }),
        ),
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
        headers: HeaderPairs,
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
