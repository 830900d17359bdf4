// Adds the credentials of a call's authentication setting to its request, if its host may receive
// them.
import type { Authorization, TickToken } from "../../model/authorization.ts";
import { isInDomain, settingOf } from "../../model/authorization.ts";
import type { KeyValue } from "../../model/fields.ts";
import type { TickCall } from "../../model/tick.ts";
import type { BuiltRequest, HttpRequest, Moment } from "../http/http-request.ts";
import { authorizeAmazon } from "./amazon.ts";
import type { Authorizer } from "./authorizer.ts";
import { withCredential } from "./authorizer.ts";
import { authorizeOAuth1 } from "./oauth1.ts";
import { authorizeBearer, authorizeJws } from "./oauth2.ts";

const unchanged: Authorizer = (request) => ({ request });

/** RFC 7617, with the user-id and password in UTF-8. */
const authorizeBasic: Authorizer = (request, { keys }) => {
  const { client_id: user, client_secret: password } = keys;
  if (!user && !password) return { reason: "the authentication setting has no keys" };
  if (user?.includes(":"))
    return {
      reason: "the client_id has a colon, which Basic authentication forbids",
    };
  const pair = `${user ?? ""}:${password ?? ""}`;
  if (/\p{Cc}/u.test(pair))
    return {
      reason: "the keys have a control character, which Basic authentication forbids",
    };
  const credentials = Buffer.from(pair).toString("base64");
  return {
    request: withCredential(request, "Authorization", `Basic ${credentials}`),
  };
};

const AUTHORIZERS: Readonly<Record<string, Authorizer>> = {
  NONE: unchanged,
  // Its headers and parameters became part of the call when the request was built.
  MANUAL: unchanged,
  BASIC: authorizeBasic,
  OAUTH1: authorizeOAuth1,
  OAUTH2: authorizeBearer,
  OAUTH2_JWT: authorizeBearer,
  OAUTH2_JWS: authorizeJws,
  AMAZON: authorizeAmazon,
};

/** Types whose credentials are valid for one request only. */
const SIGNING = new Set(["OAUTH1", "OAUTH2_JWS", "AMAZON"]);

/** `usesCredentials`: the request was built with values of the setting or the token in it. */
export async function authorize(
  request: HttpRequest,
  authorization: Authorization,
  moment: Moment,
  usesCredentials: boolean,
): Promise<BuiltRequest> {
  const { auth_type, domain } = authorization;
  const authorizer = Object.hasOwn(AUTHORIZERS, auth_type) ? AUTHORIZERS[auth_type] : undefined;
  if (!authorizer) return { reason: `this agent does not know the auth_type ${auth_type}` };
  const certificate = certificateOf(authorization);
  const isNeeded = usesCredentials || auth_type !== "NONE" || certificate;
  if (isNeeded && !isInDomain(request.url.hostname, domain))
    return {
      reason: `the authentication setting covers ${domain} and its subdomains, but the call goes to ${request.url.hostname}`,
    };
  const sign: HttpRequest["sign"] = async (unsigned, at) =>
    sendable(await authorizer(unsigned, authorization, at));
  const prepared: HttpRequest = {
    ...request,
    ...(certificate && { clientCertificate: certificate }),
    ...(SIGNING.has(auth_type) && { sign }),
  };
  return sign(prepared, moment);
}

// RFC 9110 section 5.5, with one character for each byte.
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Rejects credentials that a header cannot carry: an owner may enter anything. */
function sendable(built: BuiltRequest): BuiltRequest {
  if ("reason" in built) return built;
  const unfit = built.request.headers.find(({ value }) => !FIELD_VALUE.test(value));
  return unfit
    ? {
        reason: `the credentials contain characters that are not allowed in ${unfit.key}`,
      }
    : built;
}

function certificateOf(authorization: Authorization): HttpRequest["clientCertificate"] {
  const cert = settingOf(authorization, "ssl_cert");
  const key = settingOf(authorization, "ssl_key");
  // In settings of earlier versions, one PEM may hold both.
  return cert === undefined ? undefined : { cert, key: key ?? cert };
}

/** What the token of a MANUAL setting adds to the call before its variables are filled in. */
export function manualPairs(authorization: TickCall["authorization"]): {
  readonly headers: readonly KeyValue[];
  readonly parameters: readonly KeyValue[];
} {
  if (authorization?.auth_type !== "MANUAL") return { headers: [], parameters: [] };
  const { headers = [], parameters = [] } = authorization.token ?? {};
  return { headers, parameters };
}

const EXPIRING = new Set(["OAUTH1", "OAUTH2", "OAUTH2_JWT", "OAUTH2_JWS", "AMAZON", "MANUAL"]);

/** Says why the credentials cannot be sent now: our fault, not the target's. */
export function credentialFault(
  { auth_type, token }: Authorization,
  now: number,
): string | undefined {
  if (token?.withheld)
    return `credential_withheld: the token '${token.name}' was not sent: ${token.withheld}`;
  if (!token || !EXPIRING.has(auth_type)) return undefined;
  if (token.expires_at !== null && token.expires_at <= now)
    return `credential_expired: the token '${token.name}' expired at ${new Date(token.expires_at).toISOString()}${renewalOf(token)}`;
  return !token.access_token && (token.renewal_failure || token.is_renewed)
    ? `credential_missing: the token '${token.name}' was not obtained${renewalOf(token)}`
    : undefined;
}

const renewalOf = ({ renewal_failure }: TickToken): string =>
  renewal_failure ? `; its renewal failed: ${renewal_failure}` : "";
