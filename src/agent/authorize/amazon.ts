// AMAZON: AWS Signature Version 4 in the Authorization header.
import type { Authorization } from "../../model/authorization.ts";
import { settingOf } from "../../model/authorization.ts";
import type { HttpRequest } from "../http/http-request.ts";
import type { Authorizer } from "./authorizer.ts";
import { withCredential } from "./authorizer.ts";
import { amazonSignature, hasBodyHash, sha256 } from "./sigv4.ts";
import type { AmazonScope } from "./sigv4.ts";

export const authorizeAmazon: Authorizer = (request, authorization, { now }) => {
  const { client_id: id, client_secret: secret } = authorization.keys;
  if (!id || !secret)
    return {
      reason: "the authentication setting needs a client_id and client_secret",
    };
  const named = scopeOf(request.url.hostname);
  const service = signedAs(settingOf(authorization, "service")?.toLowerCase() ?? named.service);
  if (service === "")
    return {
      reason: "neither the authentication setting nor the host names a service",
    };
  const scope: AmazonScope = {
    date: amazonDate(now),
    region: settingOf(authorization, "region") ?? (named.region || "us-east-1"),
    service,
  };
  const dated = withAmazonHeaders(request, authorization, scope);
  const signature = amazonSignature(dated, scope, { id, secret });
  return { request: withCredential(dated, "Authorization", signature) };
};

function withAmazonHeaders(
  request: HttpRequest,
  authorization: Authorization,
  { date, service }: AmazonScope,
): HttpRequest {
  const sessionToken = authorization.token?.access_token;
  const added = [
    { key: "X-Amz-Date", value: date },
    ...(hasBodyHash(service)
      ? [{ key: "X-Amz-Content-Sha256", value: sha256(request.body ?? "") }]
      : []),
  ];
  const names = new Set(added.map(({ key }) => key.toLowerCase()));
  const dated = {
    ...request,
    url: withPlainPath(request.url),
    headers: [...request.headers.filter(({ key }) => !names.has(key.toLowerCase())), ...added],
  };
  return sessionToken ? withCredential(dated, "X-Amz-Security-Token", sessionToken) : dated;
}

/** Escapes what RFC 3986 forbids in a path, so the receiver reads the same path. */
function withPlainPath(url: URL): URL {
  const path = url.pathname.replace(/[^\w\-.~!$&'()*+,;=:@%/]/g, encodeURIComponent);
  if (path === url.pathname) return url;
  const plain = new URL(url);
  plain.pathname = path;
  return plain;
}

/** Host labels that differ from the signing name of their service. */
const OTHER_NAMES: readonly (readonly [label: RegExp, service: string])[] = [
  [/^s3-(?:accelerate|accesspoint|control|external-1)$/, "s3"],
  [/^s3express-/, "s3express"],
  [/^email$/, "ses"],
  [/^aos$/, "es"],
  [/^lambda-url$/, "lambda"],
];

const signedAs = (name: string): string =>
  OTHER_NAMES.find(([label]) => label.test(name))?.[1] ?? name;

const REGION = /^(?:s3-)?([a-z]{2,4}(?:-[a-z]+)+-\d+)$/;

const AMAZON_HOST = /^(.+?)\.(?:amazonaws\.(?:com(?:\.cn)?|eu)|(?:global\.)?api\.aws|on\.aws)$/;

/** Reads the last labels of a host name: `<service>.<region>`, or an exception. */
function scopeOf(hostname: string): { service: string; region: string } {
  const [, name = ""] = AMAZON_HOST.exec(hostname) ?? [];
  const [last = "", before = ""] = name
    .split(".")
    .filter((label) => label !== "dualstack" && label !== "vpce")
    .map((label) => label.replace(/-fips$/, ""))
    .toReversed();
  if (last === "es" || last === "aoss") return { service: last, region: before };
  const [, region = ""] = REGION.exec(last) ?? [];
  if (region === "") return { service: last, region };
  return { service: region === last ? before : "s3", region };
}

const amazonDate = (now: number): string => new Date(now).toISOString().replace(/[:-]|\.\d+/g, "");
