// The rules of token renewal: when a token is due, and how an answer changes it.
import type { AuthSetting } from "./auth-setting.ts";
import type { TickToken } from "./authorization.ts";
import { formatInstant, parseInstant } from "./instant.ts";
import type { DueRun } from "./slots.ts";
import { isStorable, toStorable } from "./storable.ts";
import { TokenSchema } from "./token.ts";
import type { Token } from "./token.ts";
import { createValidator } from "./validate.ts";

/**
 * A token is renewed three minutes or a tenth of its life before it expires, whichever is longer,
 * but at most half its life. That covers publishing ahead plus a late start: a run's token lasts.
 */
const LEAST_AHEAD_MS = 180_000;
const SHARE_AHEAD = 0.1;

/** The least time between two requests for a new token, however often its owner writes it. */
export const LEAST_BETWEEN_MS = 30_000;

/** The renewal time of a new token, which comes before all others. */
export const AT_ONCE = 0;

/** A longer life is cut to this. */
const LONGEST_LIFE_S = 100 * 365 * 24 * 3600;

/** Time for a tick to reach its agent. */
const TICK_LEAD_MS = 5000;

const RENEWED_GRANTS = new Set(["client_credentials", "refresh_token", "password"]);

/** Whether the setting and the token allow a renewal. */
export function isRenewable({ settings }: AuthSetting, { token }: Token): boolean {
  if (!settings.access_token_url) return false;
  if (settings.auth_type === "OAUTH2_JWT") return true;
  if (settings.auth_type !== "OAUTH2") return false;
  const grant = token.grant_type ?? "";
  if (grant === "refresh_token" && !token.refresh_token) return false;
  return RENEWED_GRANTS.has(grant);
}

/** In epoch milliseconds; 0 without an access token, null for a token that does not expire. */
export function renewalTime({ token }: Token): number | null {
  if (!token.access_token) return 0;
  const expiry = parseInstant(token.expire_time ?? "");
  if (expiry === undefined) return null;
  const life = (token.expires_in ?? 0) * 1000;
  const ahead = Math.max(LEAST_AHEAD_MS, life * SHARE_AHEAD);
  return expiry - (life > 0 ? Math.min(ahead, life / 2) : ahead);
}

/**
 * Whether a run waits for a newer token. If its token expires too soon, it waits until shortly
 * before it is due; if it has no usable token and the renewal has not failed, until shortly before
 * its latest start.
 */
export function awaitsRenewal(
  { is_renewed, access_token, expires_at, renewal_failure }: TickToken,
  { due_time, latest_start }: Pick<DueRun, "due_time" | "latest_start">,
  now: number,
): boolean {
  if (!is_renewed) return false;
  const lastsUntil = (time: number): boolean =>
    Boolean(access_token) && (expires_at === null || expires_at > time);
  if (lastsUntil(latest_start)) return false;
  const isHopeful = !lastsUntil(Math.max(due_time, now)) && !renewal_failure;
  return now < (isHopeful ? latest_start : due_time) - TICK_LEAD_MS;
}

/** Returns the token updated from the answer (RFC 6749 section 5.1), or the answer's fault. */
export function renewedToken(
  before: Token,
  answer: Readonly<Record<string, unknown>>,
  now: number,
): Token | string {
  const { access_token, refresh_token } = answer;
  if (typeof access_token !== "string" || access_token === "")
    return "the token endpoint answered without an access_token";
  if (isDeeper(answer, MOST_LEVELS))
    return `the answer of the token endpoint is nested deeper than ${MOST_LEVELS} levels`;
  const damaged = Object.entries({ access_token, refresh_token }).find(
    ([, secret]) => typeof secret === "string" && !isStorable(secret),
  );
  if (damaged)
    return `the ${damaged[0]} in the answer of the token endpoint contains a NUL character or a lone surrogate`;
  const api_response = toStorable(answer) as Token["api_response"];
  const { token_type, scope } = api_response;
  const expires_in = lifeOf(answer["expires_in"]);
  const { expires_in: _life, ...kept } = before.token;
  const renewed = withoutFailure({
    ...before,
    token: {
      ...kept,
      access_token,
      expire_time: expires_in === undefined ? null : formatInstant(now + expires_in * 1000),
      ...(expires_in !== undefined && { expires_in }),
      ...(typeof refresh_token === "string" && refresh_token !== "" && { refresh_token }),
      ...(typeof token_type === "string" && { token_type }),
      ...(typeof scope === "string" && { scope }),
    },
    api_response,
  });
  const tooLarge = tooLargeIn(renewed);
  return tooLarge === undefined
    ? renewed
    : `${tooLarge} in the answer of the token endpoint is too large to be kept`;
}

/**
 * In whole seconds; undefined if the token does not expire, for which endpoints send 0 or nothing.
 */
function lifeOf(given: unknown): number | undefined {
  const seconds = typeof given === "string" && /^\d+$/.test(given) ? Number(given) : given;
  if (typeof seconds !== "number" || !(seconds >= 1)) return undefined;
  return Math.min(Math.floor(seconds), LONGEST_LIFE_S);
}

/** Then its token can be sent back to the API, which takes bodies of 32 levels. */
const MOST_LEVELS = 31;

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)));

const { token: TokenFields, api_response: ApiResponse } = TokenSchema.properties;
const fitsResponse = createValidator(ApiResponse);
const ANSWERED = (["access_token", "refresh_token", "token_type", "scope"] as const).map(
  (name) => [name, createValidator(TokenFields.properties[name])] as const,
);

function tooLargeIn({ token, api_response }: Token): string | undefined {
  const field = ANSWERED.find(
    ([name, validator]) => token[name] !== undefined && !validator.accepts(token[name]),
  );
  if (field) return `the ${field[0]}`;
  return fitsResponse.accepts(api_response) ? undefined : "the object";
}

/** The name in `api_response` of the reason why a renewal failed. */
export const RENEWAL_ERROR = "renewal_error";

/** Returns the old token, with the reason beside the endpoint's last answer. */
export const unrenewedToken = (before: Token, reason: string): Token => ({
  ...before,
  api_response: { ...before.api_response, [RENEWAL_ERROR]: reason },
});

export function withoutFailure(token: Token): Token {
  const { [RENEWAL_ERROR]: _ours, ...api_response } = token.api_response;
  return { ...token, api_response };
}

export function renewalFailureOf({ api_response }: Token): string | null {
  const reason = api_response[RENEWAL_ERROR];
  return typeof reason === "string" ? reason : null;
}

/**
 * Returns the token as its owner changed it, but with what only renewals set: the owner may have
 * sent back a copy from before one. A new access token is the owner's, with all that comes with it.
 */
export function withRenewal(before: Token, changed: Token, isRenewed: boolean): Token {
  const reason = isRenewed ? renewalFailureOf(before) : null;
  const owned = reason === null ? withoutFailure(changed) : unrenewedToken(changed, reason);
  const { access_token, refresh_token, expire_time, expires_in } = before.token;
  const { access_token: obtained, refresh_token: rotated } = before.api_response;
  const isObtained = Boolean(access_token) && access_token === obtained;
  if (!isRenewed || !isObtained || owned.token.access_token !== access_token) return owned;
  const { expires_in: _given, ...token } = owned.token;
  const isOlder = expire_time !== null && token.expire_time === null;
  const isRotated = Boolean(refresh_token) && refresh_token === rotated;
  return {
    ...owned,
    token: {
      ...token,
      expire_time,
      ...(expires_in !== undefined && { expires_in }),
      ...(isOlder && isRotated && { refresh_token }),
    },
  };
}

/** Whether neither the owner nor another renewal has changed the token. */
export const isSameToken = (a: Token, b: Token): boolean =>
  a.meta.auth_id === b.meta.auth_id &&
  (["access_token", "refresh_token", "grant_type", "username", "password", "scope"] as const).every(
    (name) => a.token[name] === b.token[name],
  );
