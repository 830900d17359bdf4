// Signs a request with AWS Signature Version 4, as AWS documents it. Escaping works byte by byte.
import { createHash, createHmac } from "node:crypto";
import type { HttpRequest } from "../http/http-request.ts";
import { byBytes, decodeBytes, encodeBytes, escapeByte } from "./percent.ts";

export interface AmazonScope {
  /** In the form of `X-Amz-Date`, for example 20150830T123600Z. */
  readonly date: string;
  readonly region: string;
  readonly service: string;
}

export interface AmazonKey {
  readonly id: string;
  readonly secret: string;
}

// These describe how the call is made, and a proxy may change them; a workflow's cookies are added
// after signing.
const UNSIGNED = new Set([
  "accept",
  "authorization",
  "cookie",
  "sonde-run",
  "traceparent",
  "user-agent",
  "x-amzn-trace-id",
]);

/** The hash of the body, or a statement that the body is not signed. */
const BODY_HASH = "x-amz-content-sha256";

/** Object storage signs paths differently from all other services. */
const isStorage = (service: string): boolean =>
  /^s3(?:express|-outposts|-object-lambda)?$/.test(service);

/** Whether the service requires the header with the hash of the body. */
export const hasBodyHash = (service: string): boolean => isStorage(service) || service === "aoss";

/** The value of the `Authorization` header. The request has a `Host` header. */
export function amazonSignature(
  request: HttpRequest,
  { date, region, service }: AmazonScope,
  { id, secret }: AmazonKey,
): string {
  const headers = signedHeaders(request);
  const names = [...headers.keys()].join(";");
  const canonical = [
    request.method,
    isStorage(service) ? storagePath(request.url.pathname) : servicePath(request.url.pathname),
    canonicalQuery(request.url.search.slice(1)),
    ...[...headers].map(([name, value]) => `${name}:${value}`),
    "",
    names,
    headers.get(BODY_HASH) ?? sha256(request.body ?? ""),
  ].join("\n");
  const scope = [date.slice(0, 8), region, service, "aws4_request"];
  const credential = scope.join("/");
  const digest = sha256(Buffer.from(canonical, "latin1"));
  const text = `AWS4-HMAC-SHA256\n${date}\n${credential}\n${digest}`;
  const key = scope.reduce<string | Buffer>(hmac, `AWS4${secret}`);
  const signature = hmac(key, text).toString("hex");
  return `AWS4-HMAC-SHA256 Credential=${id}/${credential}, SignedHeaders=${names}, Signature=${signature}`;
}

/** Sorted by name; joins the values of a repeated header, as the receiver does. */
const signedHeaders = ({ headers }: HttpRequest): Map<string, string> =>
  new Map(
    [...Map.groupBy(headers, ({ key }) => key.toLowerCase())]
      .filter(([name]) => !UNSIGNED.has(name))
      .toSorted(([a], [b]) => byBytes(a, b))
      .map(([name, all]) => [name, all.map(({ value }) => withSingleBlanks(value)).join(",")]),
  );

const withSingleBlanks = (value: string): string =>
  value.replace(/[ \t]+/g, " ").replace(/^ | $/g, "");

/** Escapes the path's own escapes once more. */
const servicePath = (path: string): string =>
  path.replace(/\/+/g, "/").replace(/[^\w.~/-]/g, escapeByte);

/** Escapes once. Only here, a plus in a path means a space. */
const storagePath = (path: string): string => canonicalText(path).replaceAll("%2F", "/");

/** Sorted by name, then by value; keeps repeated parameters. */
const canonicalQuery = (query: string): string =>
  query
    .split("&")
    .filter((parameter) => parameter !== "")
    .map((parameter) => {
      const [name = "", ...value] = parameter.split("=");
      return {
        name: canonicalText(name),
        value: canonicalText(value.join("=")),
      };
    })
    .toSorted((a, b) => byBytes(a.name, b.name) || byBytes(a.value, b.value))
    .map(({ name, value }) => `${name}=${value}`)
    .join("&");

const canonicalText = (text: string): string => encodeBytes(decodeBytes(text));

const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac("sha256", key).update(text).digest();

export const sha256 = (data: string | Buffer): string =>
  createHash("sha256").update(data).digest("hex");
