// A token as its form edits it, and the body that saves it.
import type { KeyValue } from "../../../../src/model/fields.ts";
import { changeOf } from "../../parts/secret-field.tsx";
import type { NewSecret } from "../../parts/secret-field.tsx";
import { storedRows } from "../../parts/secret-rows.tsx";
import type { SecretRow } from "../../parts/secret-rows.tsx";
import type { AuthType } from "../../auth-types.ts";
import type { ShownToken } from "./token-state.ts";

export const SECRETS = {
  access_token: "Access token",
  token_secret: "Token secret",
  refresh_token: "Refresh token",
  password: "Password",
} as const;

export type SecretKey = keyof typeof SECRETS;

export const GRANTS = ["", "client_credentials", "refresh_token", "password"] as const;
export type Grant = (typeof GRANTS)[number];

export interface TokenDraft {
  readonly name: string;
  readonly authId: string;
  readonly grant: Grant;
  readonly username: string;
  /** ISO 8601; empty for none. */
  readonly expireTime: string;
  readonly secrets: Readonly<Partial<Record<SecretKey, NewSecret>>>;
  readonly headers: readonly SecretRow[];
  readonly parameters: readonly SecretRow[];
}

/** Leaves out secrets. */
export function draftOf(stored: ShownToken | undefined, authId: string): TokenDraft {
  const { grant_type, username, expire_time, headers, parameters } = stored?.token ?? {};
  return {
    name: stored?.meta.name ?? "",
    authId: stored?.meta.auth_id ?? authId,
    grant: GRANTS.find((grant) => grant === grant_type) ?? "",
    username: username ?? "",
    expireTime: expire_time ?? "",
    secrets: {},
    headers: storedRows(headers ?? []),
    parameters: storedRows(parameters ?? []),
  };
}

const SECRETS_OF: Readonly<Partial<Record<AuthType, readonly SecretKey[]>>> = {
  OAUTH1: ["access_token", "token_secret"],
  OAUTH2: ["access_token"],
  OAUTH2_JWT: ["access_token"],
  OAUTH2_JWS: ["access_token"],
  AMAZON: ["access_token"],
};

/** The secrets that a token of this type takes. */
export function secretsOf(type: AuthType | undefined, grant: Grant): readonly SecretKey[] {
  const secrets = (type && SECRETS_OF[type]) ?? [];
  if (type !== "OAUTH2") return secrets;
  if (grant === "refresh_token") return [...secrets, "refresh_token"];
  return grant === "password" ? [...secrets, "password"] : secrets;
}

/** Includes only what the type takes; the rest stays as it is stored. */
export function bodyOf(
  draft: TokenDraft,
  type: AuthType | undefined,
  stored: ShownToken | undefined,
): object {
  const secrets = secretsOf(type, draft.grant).flatMap((key) =>
    Object.entries(changeOf(key, draft.secrets[key])),
  );
  return {
    meta: { name: draft.name.trim(), ...(!stored && { auth_id: draft.authId }) },
    token: {
      ...Object.fromEntries(secrets),
      expire_time: draft.expireTime.trim() === "" ? null : draft.expireTime.trim(),
      ...(type === "OAUTH2" && { grant_type: draft.grant }),
      ...(type === "OAUTH2" && draft.grant === "password" && { username: draft.username || null }),
      ...(type === "MANUAL" && {
        headers: draft.headers.map(pairOf),
        parameters: draft.parameters.map(pairOf),
      }),
    },
  };
}

/** Lists are replaced whole: a row that keeps its value sends it again. */
const pairOf = ({ name, stored = "", value }: SecretRow): KeyValue => ({
  key: name,
  value: value || stored,
});
