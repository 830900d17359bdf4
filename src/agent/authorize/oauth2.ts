// OAUTH2, OAUTH2_JWT and OAUTH2_JWS: a bearer token, and for OAUTH2_JWS a signature of the body.
import { settingOf } from "../../model/authorization.ts";
import { SigningError, signingKeyOf, signJws } from "../../runtime/jws.ts";
import { isToken } from "../../model/header.ts";
import { isAgentHeader } from "../build-request.ts";
import type { Authorizer } from "./authorizer.ts";
import { withCredential } from "./authorizer.ts";

// Wider than RFC 6750's b64token: tokens with other printable characters are in use.
const PRINTABLE = /^[\x21-\x7e]+$/;

/** Sends the access token as RFC 6750 section 2.1 does. */
export const authorizeBearer: Authorizer = (request, { token }) => {
  const accessToken = token?.access_token;
  if (!accessToken)
    return {
      reason: token
        ? "the token has no access_token"
        : "the call names no token, but its authentication setting requires one",
    };
  if (!PRINTABLE.test(accessToken))
    return { reason: "the access_token contains characters that headers do not allow" };
  return {
    request: withCredential(request, "Authorization", `Bearer ${accessToken}`),
  };
};

const DEFAULT_HEADER = "X-JWS-Signature";
const RESERVED = /^(?:authorization|cookie|host|content-.*)$/;

const isReserved = (name: string): boolean => RESERVED.test(name) || isAgentHeader(name);

/** Sends a signature (RFC 7515) of the body in a header, and the bearer token if there is one. */
export const authorizeJws: Authorizer = async (request, authorization, moment) => {
  const secret = authorization.keys.client_secret;
  if (!secret) return { reason: "the authentication setting has no client_secret" };
  const header = settingOf(authorization, "header_name") ?? DEFAULT_HEADER;
  if (!isToken(header) || isReserved(header.toLowerCase()))
    return { reason: "the header_name cannot carry a signature" };
  const bearing = authorization.token?.access_token
    ? await authorizeBearer(request, authorization, moment)
    : { request };
  if ("reason" in bearing) return bearing;
  try {
    const key = signingKeyOf(
      secret,
      settingOf(authorization, "algorithm"),
      settingOf(authorization, "key_id"),
    );
    const jws = await signJws(request.body ?? new Uint8Array(), key, {
      detached: authorization.settings["detached"] === true,
    });
    return { request: withCredential(bearing.request, header, jws) };
  } catch (cause) {
    if (cause instanceof SigningError) return { reason: cause.message };
    throw cause;
  }
};
