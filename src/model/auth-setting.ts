// An Authentication Setting: how calls to a domain authenticate, and which parts of it readers see.
import type { Static, TSchema } from "typebox";
import type { Actor, Owned } from "./access.ts";
import { isColleague, isOwner } from "./access.ts";
import { Domain, toDomain } from "./domain.ts";
import { defineResource } from "./resource.ts";
import {
  Description,
  Flag,
  Id,
  LIMITS,
  Link,
  Name,
  OWNERSHIP,
  Tags,
  credentials,
  freeValue,
  namedByUser,
  nullable,
  readOnly,
  requiredAlways,
  secret,
  withDefault,
} from "./fields.ts";
import { HeaderName } from "./header.ts";
import { Type } from "./type.ts";
import { FixedUrlField } from "./url.ts";

export const AUTH_TYPES = [
  "MANUAL",
  "BASIC",
  "OAUTH1",
  "OAUTH2",
  "NONE",
  "OAUTH2_JWS",
  "OAUTH2_JWT",
  "AMAZON",
] as const;

const Text = Type.Optional(nullable(Type.String({ maxLength: LIMITS.pair })));
const Switch = Type.Optional(nullable(Type.Boolean()));
/** Existing clients send each key, with "" where they have no value. */
const orEmpty = <S extends TSchema>(schema: S) =>
  Type.Optional(Type.Union([schema, Type.Enum([""]), Type.Null()]));

const PRIVATE_KEY = /-----BEGIN [^\n]{0,100}PRIVATE KEY/i; // bounded: texts may be long
/** Visible to readers of a shared setting, and stored in plaintext. */
const Certificate = Type.Refine(
  Type.String({
    maxLength: LIMITS.secret,
    description: "PEM, of certificates only",
    fault: () => "a private key is not allowed here: put it in settings.ssl_key",
  }),
  (pem) => !PRIVATE_KEY.test(pem),
);

const Settings = Type.Object(
  {
    auth_type: Type.Enum([...AUTH_TYPES]),
    custom_variables: withDefault(
      secret(
        namedByUser(
          Type.Record(Type.String(), Type.String({ maxLength: LIMITS.pair }), {
            maxProperties: LIMITS.variables,
            additionalProperties: false, // rejects names with line breaks
            description: "null removes a variable",
          }),
        ),
      ),
      {},
    ),
    access_token_url: orEmpty(FixedUrlField),
    authorize_url: Text,
    scope: Text,
    audience: Text,
    get_token_method: orEmpty(Type.Union([Type.Enum(["GET", "POST"]), Type.Boolean()])),
    basic_auth_get_token_method: Switch,
    issuer: Text,
    subject: Text,
    algorithm: Text,
    key_id: Text,
    header_name: orEmpty(HeaderName),
    detached: Switch,
    signature_method: orEmpty(Type.Enum(["HMAC-SHA1", "HMAC-SHA256", "PLAINTEXT"])),
    realm: Text,
    region: Text,
    service: Text,
    ssl_cert: Type.Optional(nullable(Certificate)),
    ssl_key: Type.Optional(
      secret(
        nullable(Type.String({ maxLength: LIMITS.secret }), {
          description: "PEM; null for all but the owner",
        }),
      ),
    ),
  },
  {
    additionalProperties: secret(freeValue(LIMITS.secret / 1024)),
    maxProperties: 100,
    namedByUser: true,
    description:
      "which keys matter depends on auth_type; null clears a key listed here and removes any other",
    examples: [{ auth_type: "BASIC", custom_variables: {} }],
  },
);

export const AuthSettingSchema = Type.Object(
  {
    id: readOnly(Id),
    meta: Type.Object(
      {
        domain: requiredAlways(Domain),
        name: Name,
        tags: Tags,
        description: Description,
        ...OWNERSHIP,
        documentation: Type.Object(
          { keys: Link, docs: Link, apps: Link, provider: Link },
          { additionalProperties: false },
        ),
      },
      { additionalProperties: false },
    ),
    access: Type.Object(
      { settings: Flag, keys: Flag, org_settings: Flag, org_keys: Flag },
      { additionalProperties: false },
    ),
    keys: credentials(
      Type.Object(
        {
          client_id: withDefault(
            nullable(Type.String({ maxLength: LIMITS.pair }), { examples: ["shop"] }),
            null,
          ),
          client_secret: withDefault(
            secret(
              nullable(Type.String({ maxLength: LIMITS.secret }), { examples: ["correct horse"] }),
            ),
            null,
          ),
        },
        {
          additionalProperties: false,
          description:
            "null for all but the owner, unless access.keys or access.org_keys shares them",
        },
      ),
    ),
    settings: Settings,
  },
  { additionalProperties: false },
);

export type AuthSetting = Static<typeof AuthSettingSchema>;

export const authSettingResource = defineResource({
  kind: "auth_setting",
  label: "Authentication Setting",
  schema: AuthSettingSchema,
  derive: (setting) => ({
    ...setting,
    meta: { ...setting.meta, domain: toDomain(setting.meta.domain) ?? "" },
  }),
  sharing: ({ access }) => ({
    org: access.org_settings,
    community: access.settings,
  }),
  filters: ({ meta }) => ({ domain: meta.domain }),
});

export type ShownAuthSetting = Omit<AuthSetting, "keys"> & {
  readonly keys: AuthSetting["keys"] | null;
};

/**
 * Readers of a shared setting see its keys only if these are shared the same way, and never its
 * private key.
 */
export function shownAuthSetting(
  setting: AuthSetting,
  reader: Actor,
  owned: Owned,
): ShownAuthSetting {
  if (isOwner(reader, owned)) return setting;
  const { access, settings } = setting;
  const keysShown =
    (access.settings && access.keys) ||
    (access.org_settings && access.org_keys && isColleague(reader, owned));
  const { ssl_key, ...others } = settings;
  return {
    ...setting,
    keys: keysShown ? setting.keys : null,
    settings: ssl_key === undefined ? others : { ...others, ssl_key: null },
  };
}
