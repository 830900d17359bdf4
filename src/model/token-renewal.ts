// When a token is renewed, and what becomes of it: the rules, without the request.
import type { AuthSetting } from "./auth-setting.ts";
import { formatInstant, parseInstant } from "./instant.ts";
import type { Token } from "./token.ts";

/** Ahead of expiry: a minute, or a tenth of a longer life; half of a shorter one. */
const LEAST_AHEAD_MS = 60_000;
const SHARE_AHEAD = 0.1;

const RENEWED_GRANTS = new Set([
  "client_credentials",
  "refresh_token",
  "password",
]);

/** Whether the setting and the token hold what a renewal takes. */
export function isRenewable(
  { settings }: AuthSetting,
  { token }: Token,
): boolean {
  if (!settings.access_token_url) return false;
  if (settings.auth_type === "OAUTH2_JWT") return true;
  if (settings.auth_type !== "OAUTH2") return false;
  const grant = token.grant_type ?? "";
  if (grant === "refresh_token" && !token.refresh_token) return false;
  return RENEWED_GRANTS.has(grant);
}

/** Epoch milliseconds; null for a token that does not expire. */
export function renewalTime({ token }: Token): number | null {
  if (!token.access_token) return 0;
  const expiry = parseInstant(token.expire_time ?? "");
  if (expiry === undefined) return null;
  const life = (token.expires_in ?? 0) * 1000;
  const ahead = Math.max(LEAST_AHEAD_MS, life * SHARE_AHEAD);
  return expiry - (life > 0 ? Math.min(ahead, life / 2) : ahead);
}

/** RFC 6749 section 5.1: the token with what its endpoint answered, or what the answer lacks. */
export function renewedToken(
  before: Token,
  answer: Readonly<Record<string, unknown>>,
  now: number,
): Token | string {
  const { access_token, refresh_token, token_type, scope } = answer;
  if (typeof access_token !== "string" || access_token === "")
    return "the token endpoint answered without an access_token";
  const seconds = Number(answer["expires_in"] ?? Number.NaN);
  const expires_in =
    Number.isFinite(seconds) && seconds >= 0 ? Math.floor(seconds) : undefined;
  const { expires_in: _life, ...kept } = before.token;
  return {
    ...before,
    token: {
      ...kept,
      access_token,
      expire_time:
        expires_in === undefined
          ? null
          : formatInstant(now + expires_in * 1000),
      ...(expires_in !== undefined && { expires_in }),
      ...(typeof refresh_token === "string" &&
        refresh_token !== "" && { refresh_token }),
      ...(typeof token_type === "string" && { token_type }),
      ...(typeof scope === "string" && { scope }),
    },
    api_response: { ...answer },
  };
}

const FAILURE = "renewal_error";

/** The old token stays; why it was not renewed stands beside what the endpoint answered last. */
export const unrenewedToken = (before: Token, reason: string): Token => ({
  ...before,
  api_response: { ...before.api_response, [FAILURE]: reason },
});

export function renewalFailureOf({ api_response }: Token): string | null {
  const reason = api_response[FAILURE];
  return typeof reason === "string" ? reason : null;
}

/** What a renewal was made from: another renewal, or its owner, may have changed the token since. */
export const isSameToken = (a: Token, b: Token): boolean =>
  (
    [
      "access_token",
      "refresh_token",
      "grant_type",
      "username",
      "password",
      "scope",
    ] as const
  ).every((name) => a.token[name] === b.token[name]);
