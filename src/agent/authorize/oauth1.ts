// OAUTH1: the Authorization header of RFC 5849.
import { createHmac } from "node:crypto";
import { settingOf } from "../../model/authorization.ts";
import type { HttpRequest } from "../http/http-request.ts";
import type { Authorizer } from "./authorizer.ts";
import { withCredential } from "./authorizer.ts";
import { byBytes, decodeBytes, encodeBytes } from "./percent.ts";

type Parameters = readonly (readonly [name: string, value: string])[];

export interface OAuth1Secrets {
  readonly consumer: string;
  readonly token: string;
}

export const authorizeOAuth1: Authorizer = (request, authorization, moment) => {
  const { keys, token } = authorization;
  if (!keys.client_id) return { reason: "the authentication setting has no client_id" };
  const method = settingOf(authorization, "signature_method")?.toUpperCase() ?? "HMAC-SHA1";
  const parameters: Parameters = [
    ["oauth_consumer_key", keys.client_id],
    ...(token?.access_token ? [["oauth_token", token.access_token] as const] : []),
    ["oauth_signature_method", method],
    ["oauth_timestamp", String(Math.floor(moment.now / 1000))],
    ["oauth_nonce", moment.nonce],
    ["oauth_version", "1.0"],
  ];
  const signature = signOAuth1(request, method, parameters, {
    consumer: keys.client_secret ?? "",
    token: token?.token_secret ?? "",
  });
  if (signature === undefined)
    return {
      reason: `the signature method '${method.slice(0, 100)}' is not HMAC-SHA1, HMAC-SHA256 or PLAINTEXT`,
    };
  const realm = settingOf(authorization, "realm");
  const value = [
    ...(realm === undefined ? [] : [`realm="${quoted(realm)}"`]),
    ...[...parameters, ["oauth_signature", signature] as const].map(
      ([name, text]) => `${name}="${encode(text)}"`,
    ),
  ].join(", ");
  return {
    request: withCredential(request, "Authorization", `OAuth ${value}`),
  };
};

/** Returns undefined for an unknown signature method. */
export function signOAuth1(
  request: HttpRequest,
  method: string,
  parameters: Parameters,
  secrets: OAuth1Secrets,
): string | undefined {
  const key = `${encode(secrets.consumer)}&${encode(secrets.token)}`;
  if (method === "PLAINTEXT") return key;
  const [, hash] = /^HMAC-(SHA1|SHA256)$/.exec(method) ?? [];
  if (hash === undefined) return undefined;
  return createHmac(hash.toLowerCase(), key)
    .update(signatureBase(request, parameters))
    .digest("base64");
}

/** RFC 5849 section 3.4.1. */
export function signatureBase(request: HttpRequest, parameters: Parameters): string {
  const all = [
    ...parameters.map(([name, value]) => [encode(name), encode(value)] as const),
    ...encodedPairs(request.url.search.slice(1)),
    ...encodedPairs(formOf(request)),
  ]
    .toSorted(([a, x], [b, y]) => byBytes(a, b) || byBytes(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
  return [request.method.toUpperCase(), baseUri(request), all].map(encode).join("&");
}

/** RFC 5849 section 3.4.1.2: with the request's Host header, and without a default port. */
function baseUri(request: HttpRequest): string {
  const { protocol, host, pathname } = request.url;
  const named = (headerOf(request, "host") ?? host).toLowerCase();
  const authority = named.replace(protocol === "http:" ? /:80$/ : /:443$/, "");
  return `${protocol}//${authority}${pathname}`;
}

/** The body if it is a form, one character per byte; otherwise empty. */
function formOf(request: HttpRequest): string {
  const type = headerOf(request, "content-type")?.split(";")[0]?.trim();
  return type?.toLowerCase() === "application/x-www-form-urlencoded"
    ? (request.body?.toString("latin1") ?? "")
    : "";
}

/** The first header of that name, decoded. */
function headerOf({ headers }: HttpRequest, name: string): string | undefined {
  const found = headers.find(({ key }) => key.toLowerCase() === name);
  return found && Buffer.from(found.value, "latin1").toString();
}

/** RFC 5849 section 3.4.1.3.1, byte by byte, since a form need not be UTF-8. */
const encodedPairs = (form: string): Parameters =>
  form
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => {
      const [name = "", ...value] = pair.split("=");
      return [encodeBytes(decodeBytes(name)), encodeBytes(decodeBytes(value.join("=")))];
    });

/** RFC 5849 section 3.6. */
const encode = (text: string): string => encodeBytes(Buffer.from(text).toString("latin1"));

/** Escapes the content of a quoted string (RFC 9110 section 5.6.4), one character per byte. */
const quoted = (text: string): string =>
  Buffer.from(text.replace(/["\\]/g, String.raw`\$&`)).toString("latin1");
