// A Token: credentials obtained for an Authentication Setting, for the calls that name it. Never
// shared.
import type { Static } from "typebox";
import { AUTH_TYPES } from "./auth-setting.ts";
import type { AuthSetting } from "./auth-setting.ts";
import { FIRST_INSTANT, formatInstant, LAST_INSTANT, parseInstant } from "./instant.ts";
import { defineResource } from "./resource.ts";
import {
  EXAMPLE,
  Hostname,
  Id,
  LIMITS,
  Name,
  OWNERSHIP,
  PairList,
  dateTime,
  freeForm,
  internal,
  mark,
  nullable,
  readOnly,
  secret,
  withDefault,
} from "./fields.ts";
import { HeaderList } from "./header.ts";
import { Type } from "./type.ts";

const Instant = Type.Refine(
  dateTime(
    Type.String({
      maxLength: 100,
      fault: (shown: string) => `${shown} is not an ISO 8601 date-time`,
    }),
  ),
  (text) => parseInstant(text) !== undefined,
);

const Secret = secret(Type.String({ maxLength: LIMITS.secret }));
const OptionalSecret = Type.Optional(secret(nullable(Type.String({ maxLength: LIMITS.secret }))));
const OptionalText = Type.Optional(nullable(Type.String({ maxLength: LIMITS.pair })));

export const TokenSchema = Type.Object(
  {
    id: readOnly(Id),
    meta: Type.Object(
      {
        name: Name,
        auth_id: Id,
        ...OWNERSHIP,
        domain: readOnly(
          mark(Hostname, {
            description:
              "of the setting; where that is another owner's, as of this token's latest change",
          }),
        ),
        auth_type: readOnly(Type.Enum([...AUTH_TYPES], { description: "of the setting" })),
      },
      { additionalProperties: false },
    ),
    token: Type.Object(
      {
        expire_time: withDefault(nullable(Instant), null),
        access_token: Type.Optional(Secret),
        grant_type: Type.Optional(Type.String({ maxLength: LIMITS.pair })),
        expires_in: Type.Optional(Type.Integer({ minimum: 0, description: "seconds" })),
        token_type: OptionalText,
        scope: OptionalText,
        token_secret: OptionalSecret,
        refresh_token: OptionalSecret,
        username: OptionalText,
        password: OptionalSecret,
        headers: Type.Optional(secret(HeaderList)),
        parameters: Type.Optional(secret(PairList)),
      },
      {
        additionalProperties: false,
        examples: [{ expire_time: EXAMPLE.time, access_token: "a secret" }],
      },
    ),
    api_response: withDefault(secret(freeForm(LIMITS.secret / 1024)), {}),
    /** The `access_token_url` that the token was made for. */
    endpoint: internal(withDefault(nullable(Type.String()), null)),
  },
  { additionalProperties: false },
);

export type Token = Static<typeof TokenSchema>;

export const tokenResource = defineResource({
  kind: "token",
  label: "Token",
  schema: TokenSchema,
  derive: (token) => ({
    ...token,
    token: { ...token.token, expire_time: inUtc(token.token.expire_time) },
  }),
  sharing: () => ({ org: false, community: false }),
  filters: ({ meta }) => ({ auth_id: meta.auth_id }),
});

function inUtc(time: string | null): string | null {
  const ms = parseInstant(time ?? "");
  if (time === null || ms === undefined) return null;
  const kept = formatInstant(Math.max(FIRST_INSTANT, Math.min(ms, LAST_INSTANT)));
  // Instants are milliseconds, but clients read back what they wrote.
  const micros = /[.,]\d{3}(\d{1,3})/.exec(time)?.[1] ?? "";
  return kept.replace(/000Z$/, `${micros.padEnd(3, "0")}Z`);
}

/** Returns the token with what it copies from its setting, which ties it to that destination. */
export const ofSetting = (token: Token, { meta, settings }: AuthSetting): Token => ({
  ...token,
  meta: {
    ...token.meta,
    domain: meta.domain,
    auth_type: settings.auth_type,
  },
  endpoint: settings.access_token_url || null,
});
