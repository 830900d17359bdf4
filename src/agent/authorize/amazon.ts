// AMAZON: AWS Signature Version 4 in the Authorization header.
import { createHash } from "node:crypto";
import aws4 from "aws4";
import type { Authorization } from "../../model/authorization.ts";
import { settingOf } from "../../model/authorization.ts";
import type { HttpRequest } from "../http-request.ts";
import type { Authorizer } from "./authorizer.ts";
import { withCredential } from "./authorizer.ts";

// They say how the call is made, and a proxy on the way may change them; a workflow's cookies are added later.
const UNSIGNED = new Set(["accept", "cookie", "traceparent", "sonde-run"]);

export const authorizeAmazon: Authorizer = (
  request,
  authorization,
  { now },
) => {
  const { client_id: id, client_secret: secret } = authorization.keys;
  if (!id || !secret)
    return {
      reason: "the authentication setting needs a client_id and client_secret",
    };
  const dated = withAmazonHeaders(request, authorization, now);
  const signer = signerOf(dated, authorization);
  if (signer.service === "")
    return {
      reason: "the authentication setting names no service, nor does the host",
    };
  try {
    // What the signer makes of the URL itself has some escapes escaped once more, and ends after 1000 parameters.
    signer.parsedPath = parsedPath(dated.url);
    return {
      request: withCredential(dated, "Authorization", signer.authHeader()),
    };
  } catch {
    return { reason: "the URL has an escape that cannot be signed" };
  }
};

function withAmazonHeaders(
  request: HttpRequest,
  authorization: Authorization,
  now: number,
): HttpRequest {
  const sessionToken = authorization.token?.access_token;
  const added = [
    { key: "X-Amz-Date", value: amazonDate(now) },
    // S3 demands it, the others take no notice.
    ...(serviceOf(authorization) === "s3" ||
    /(?:^|[.-])s3[.-]/.test(request.url.hostname)
      ? [{ key: "X-Amz-Content-Sha256", value: sha256(request.body) }]
      : []),
  ];
  const names = new Set(added.map(({ key }) => key.toLowerCase()));
  const dated = {
    ...request,
    url: withPlainPath(request.url),
    headers: [
      ...request.headers.filter(({ key }) => !names.has(key.toLowerCase())),
      ...added,
    ],
  };
  return sessionToken
    ? withCredential(dated, "X-Amz-Security-Token", sessionToken)
    : dated;
}

/** With an escape for what RFC 3986 allows in no path, so that the receiver cannot take it for anything else. */
function withPlainPath(url: URL): URL {
  const path = url.pathname.replace(
    /[^\w\-.~!$&'()*+,;=:@%/]/g,
    encodeURIComponent,
  );
  if (path === url.pathname) return url;
  const plain = new URL(url);
  plain.pathname = path;
  return plain;
}

function signerOf(request: HttpRequest, authorization: Authorization) {
  const { client_id, client_secret } = authorization.keys;
  const service = serviceOf(authorization);
  const region = settingOf(authorization, "region");
  const signer = new aws4.RequestSigner(
    {
      method: request.method,
      hostname: hostOf(request),
      headers: signedHeaders(request),
      ...(request.body && { body: request.body }),
      ...(service && { service }),
      ...(region && { region }),
      doNotModifyHeaders: true,
    },
    {
      accessKeyId: client_id ?? "",
      secretAccessKey: client_secret ?? "",
    },
  );
  const date = request.headers.find(({ key }) => key === "X-Amz-Date");
  signer.datetime = date?.value ?? "";
  return signer;
}

/** Throws where the query is not in UTF-8. */
function parsedPath({ pathname, search }: URL) {
  decodeURIComponent(search.replace(/%(?![\da-f]{2})/gi, "%25"));
  const named = Map.groupBy(new URLSearchParams(search), ([name]) => name);
  const query = [...named].map(
    ([name, pairs]) => [name, pairs.map(([, value]) => value)] as const,
  );
  return { path: pathname, query: Object.fromEntries(query) };
}

const serviceOf = (authorization: Authorization): string | undefined =>
  settingOf(authorization, "service")?.toLowerCase();

/** Whose labels tell the service and the region; `dualstack` and `accelerate` are neither. */
const hostOf = ({ url }: HttpRequest): string =>
  url.hostname.replace(".s3-accelerate.", ".s3.").replace(".dualstack.", ".");

/** The values of a repeated header are joined, as the receiver joins them. */
function signedHeaders({ headers }: HttpRequest): Record<string, string> {
  const signed: Record<string, string> = {};
  for (const { key, value } of headers) {
    const name = key.toLowerCase();
    if (UNSIGNED.has(name)) continue;
    const text = Buffer.from(value, "latin1").toString().trim();
    const before = signed[name];
    signed[name] = before === undefined ? text : `${before},${text}`;
  }
  return signed;
}

const amazonDate = (now: number): string =>
  new Date(now).toISOString().replace(/[:-]|\.\d+/g, "");

const sha256 = (body: Buffer | null): string =>
  createHash("sha256")
    .update(body ?? "")
    .digest("hex");
