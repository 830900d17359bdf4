// The current state of a token, in words.
import type { ShownAuthSetting } from "../../../../src/model/auth-setting.ts";
import type { Token } from "../../../../src/model/token.ts";
import { formatAgo } from "../../clock.ts";
import type { Tone } from "../../tone.ts";

/** A token as the API shows it: secrets are null for a key that only reads. */
export interface ShownToken {
  readonly id: string;
  readonly meta: Token["meta"];
  readonly token: { readonly [K in keyof Token["token"]]: Token["token"][K] | null };
  readonly api_response: Token["api_response"] | null;
  readonly unreadable?: true;
}

export interface TokenState {
  readonly tone: Tone;
  readonly word: string;
  readonly note?: string;
}

const RENEWED = ["client_credentials", "refresh_token", "password"];

/** Tells whether Sonde obtains and renews the token, as in `src/model/token-renewal.ts`. */
function isRenewed(
  { meta, token }: Pick<ShownToken, "meta" | "token">,
  setting: ShownAuthSetting | undefined,
): boolean {
  if (!setting?.settings.access_token_url) return false;
  if (meta.auth_type === "OAUTH2_JWT") return true;
  if (meta.auth_type !== "OAUTH2" || lacksRefreshToken(token)) return false;
  return RENEWED.includes(token.grant_type ?? "");
}

/** A secret that is stored, but not shown, is null. */
const lacks = (secret: string | null | undefined): boolean => secret === undefined || secret === "";

const lacksRefreshToken = ({ grant_type, refresh_token }: ShownToken["token"]): boolean =>
  grant_type === "refresh_token" && lacks(refresh_token);

/** Without an access token, calls with these settings are not made. */
const BEARERS = ["OAUTH2", "OAUTH2_JWT"];

/** What a token needs that Sonde cannot obtain with its setting as it is. */
const wayToToken = ({ meta, token }: ShownToken): string =>
  meta.auth_type === "OAUTH2_JWT" || RENEWED.includes(token.grant_type ?? "")
    ? "Enter the token URL of its setting."
    : "Enter it: calls that use the token are not made.";

export function stateOf(
  shown: ShownToken,
  setting: ShownAuthSetting | undefined,
  now: number,
): TokenState {
  const { meta, token, api_response, unreadable } = shown;
  if (unreadable) return { tone: "fail", word: "Unreadable", note: "A master key is missing." };
  const expiry = token.expire_time;
  const isExpired = expiry != null && Date.parse(expiry) <= now;
  const failure = api_response?.["renewal_error"];
  if (typeof failure === "string")
    return { tone: isExpired ? "fail" : "warn", word: "Renewal failed", note: failure };
  const renewed = isRenewed(shown, setting);
  if (renewed && lacks(token.access_token))
    return { tone: "none", word: "Not obtained yet", note: "Sonde obtains it within a minute." };
  if (lacks(token.access_token) && lacksRefreshToken(token))
    return { tone: "warn", word: "Not obtained", note: "Enter its refresh token." };
  if (lacks(token.access_token) && BEARERS.includes(meta.auth_type))
    return { tone: "warn", word: "No access token", note: wayToToken(shown) };
  if (expiry == null) return { tone: "pass", word: "Does not expire" };
  const when = formatAgo(expiry, now);
  if (isExpired)
    return {
      tone: "fail",
      word: `Expired ${when}`,
      note: renewed ? "Sonde renews it." : "Calls that use it are not made: update it.",
    };
  return {
    tone: renewed ? "pass" : "warn",
    word: `Expires ${when}`,
    note: renewed ? "Sonde renews it before then." : "Update it before then.",
  };
}
