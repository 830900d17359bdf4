// OAUTH2_JWS: a signature (RFC 7515) over the body in a header, next to the bearer token.
import { settingOf } from "../../model/authorization.ts";
import { SigningError, signingKeyOf, signJws } from "../../runtime/jws.ts";
import { isAgentHeader, isToken } from "../build-request.ts";
import type { Authorizer } from "./authorizer.ts";
import { withCredential } from "./authorizer.ts";
import { authorizeBearer } from "./bearer.ts";

const DEFAULT_HEADER = "X-JWS-Signature";
const TAKEN = /^(?:authorization|cookie|host|content-.*)$/;

const isTaken = (name: string): boolean => TAKEN.test(name) || isAgentHeader(name);

export const authorizeJws: Authorizer = async (request, authorization, moment) => {
  const secret = authorization.keys.client_secret;
  if (!secret) return { reason: "the authentication setting has no client_secret" };
  const header = settingOf(authorization, "header_name") ?? DEFAULT_HEADER;
  if (!isToken(header) || isTaken(header.toLowerCase()))
    return { reason: "the header_name cannot be that of a signature's header" };
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
