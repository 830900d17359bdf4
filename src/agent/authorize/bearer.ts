// OAUTH2 and OAUTH2_JWT: the access token, as RFC 6750 section 2.1 sends it.
import type { Authorizer } from "./authorizer.ts";
import { withCredential } from "./authorizer.ts";

// Wider than RFC 6750's b64token: tokens with other printable characters are in use.
const PRINTABLE = /^[\x21-\x7e]+$/;

export const authorizeBearer: Authorizer = (request, { token }) => {
  const accessToken = token?.access_token;
  if (!accessToken)
    return {
      reason: token
        ? "the token has no access_token"
        : "the call names no token, which its authentication setting needs",
    };
  if (!PRINTABLE.test(accessToken))
    return { reason: "the access_token has characters that no header takes" };
  return {
    request: withCredential(request, "Authorization", `Bearer ${accessToken}`),
  };
};
