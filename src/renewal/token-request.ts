// Builds the request that asks a token endpoint for a new token: RFC 6749 sections 4.3, 4.4 and 6,
// RFC 7523 section 2.1.
import type { AuthSetting } from "../model/auth-setting.ts";
import { isInDomain } from "../model/authorization.ts";
import type { Token } from "../model/token.ts";
import { isUsable } from "../runtime/client-certificate.ts";
import type { ClientCertificate } from "../runtime/client-certificate.ts";
import { SigningError, signingKeyOf, signJws } from "../runtime/jws.ts";

export interface TokenRequest {
  readonly method: "GET" | "POST";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly clientCertificate?: ClientCertificate;
  /** Values in it that an answer may quote, and no reason may show. */
  readonly secrets: readonly string[];
}

/** The time and id of a signed assertion. */
export interface Moment {
  /** Epoch milliseconds. */
  readonly now: number;
  readonly id: string;
}

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ASSERTION_SECONDS = 300;

/** The request, or why it cannot be made: a sentence without a secret. */
export async function tokenRequest(
  setting: AuthSetting,
  token: Token,
  moment: Moment,
): Promise<TokenRequest | string> {
  const { settings, keys } = setting;
  const address = settings.access_token_url ?? "";
  if (!URL.canParse(address)) return "the access_token_url is not a valid URL";
  const url = new URL(address);
  const clientCertificate = certificateFor(setting, url);
  if (clientCertificate && !isUsable(clientCertificate))
    return "the ssl_cert or ssl_key of the setting cannot be read, or they do not match";
  const isJwt = settings.auth_type === "OAUTH2_JWT";
  const grant = isJwt ? await assertionGrant(setting, moment) : grantOf(token, settings);
  if (typeof grant === "string") return grant;
  const parameters = new URLSearchParams(grant);
  const headers: Record<string, string> = { accept: "application/json" };
  // RFC 6749 section 2.3.1: client credentials go in a header, or in the body. An assertion
  // authenticates by itself.
  if (!isJwt && settings.basic_auth_get_token_method)
    headers["authorization"] =
      `Basic ${basicCredentials(keys.client_id ?? "", keys.client_secret ?? "")}`;
  else if (!isJwt) {
    if (keys.client_id) parameters.set("client_id", keys.client_id);
    if (keys.client_secret) parameters.set("client_secret", keys.client_secret);
  }
  const request = requestWith(settings, url, parameters, headers);
  const secrets = secretsOf(setting, token, headers);
  return { ...request, ...(clientCertificate && { clientCertificate }), secrets };
}

/** Only its owner's tokens get the key of a setting, and only hosts of its domain. */
function certificateFor(
  { meta, settings: { ssl_cert, ssl_key } }: AuthSetting,
  url: URL,
): ClientCertificate | undefined {
  return ssl_cert && ssl_key && isInDomain(url.hostname, meta.domain)
    ? { cert: ssl_cert, key: ssl_key }
    : undefined;
}

const secretsOf = (
  { keys }: AuthSetting,
  { token: { refresh_token, password } }: Token,
  { authorization }: Readonly<Record<string, string>>,
): string[] =>
  [keys.client_secret, refresh_token, password, authorization?.replace(/^Basic /, "")].filter(
    (value) => typeof value === "string",
  );

function requestWith(
  { get_token_method }: AuthSetting["settings"],
  url: URL,
  parameters: URLSearchParams,
  headers: Readonly<Record<string, string>>,
): Omit<TokenRequest, "secrets"> {
  // Clients also send a flag: true for GET.
  if (get_token_method === "GET" || get_token_method === true) {
    for (const [name, value] of parameters) url.searchParams.set(name, value);
    return { method: "GET", url, headers, body: null };
  }
  const type = { "content-type": "application/x-www-form-urlencoded" };
  return {
    method: "POST",
    url,
    headers: { ...headers, ...type },
    body: parameters.toString(),
  };
}

const formEncoded = (text: string): string => new URLSearchParams([["", text]]).toString().slice(1);

const basicCredentials = (id: string, secret: string): string =>
  Buffer.from(`${formEncoded(id)}:${formEncoded(secret)}`).toString("base64");

function grantOf(
  { token }: Token,
  { scope, audience }: AuthSetting["settings"],
): Record<string, string> {
  const grant_type = token.grant_type ?? "";
  return {
    grant_type,
    ...(grant_type === "refresh_token" && {
      refresh_token: token.refresh_token ?? "",
    }),
    ...(grant_type === "password" && {
      username: token.username ?? "",
      password: token.password ?? "",
    }),
    // A refresh keeps the scope that was granted (RFC 6749 section 6).
    ...(grant_type !== "refresh_token" && {
      ...(scope && { scope }),
      ...(audience && { audience }),
    }),
  };
}

async function assertionGrant(
  { settings, keys }: AuthSetting,
  { now, id }: Moment,
): Promise<Record<string, string> | string> {
  if (!keys.client_secret) return "the authentication setting has no client_secret";
  const { issuer, subject, scope, authorize_url, access_token_url } = settings;
  const iss = issuer || keys.client_id;
  if (!iss) return "the authentication setting has no issuer or client_id";
  const iat = Math.floor(now / 1000);
  const claims = {
    iss,
    sub: subject || iss,
    aud: authorize_url || access_token_url,
    iat,
    exp: iat + ASSERTION_SECONDS,
    jti: id,
    ...(scope && { scope }),
  };
  try {
    const key = signingKeyOf(
      keys.client_secret,
      settings.algorithm || undefined,
      settings.key_id || undefined,
    );
    const payload = new TextEncoder().encode(JSON.stringify(claims));
    const assertion = await signJws(payload, key, { typ: "JWT" });
    return { grant_type: JWT_BEARER, assertion, ...(scope && { scope }) };
  } catch (cause) {
    if (cause instanceof SigningError) return cause.message;
    throw cause;
  }
}
