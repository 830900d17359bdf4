// Decides where a redirect leads and which parts of the request follow it.
import { isUtf8 } from "node:buffer";
import type { Behaviour } from "../../model/behaviour.ts";
import { isCredential } from "../../model/mask.ts";
import type { KeyValue } from "../../model/fields.ts";
import { credentialsIn, MAX_URL_LENGTH } from "./http-request.ts";
import type { HttpRequest } from "./http-request.ts";
import { CallFailure } from "./failure.ts";
import type { Trace } from "./trace.ts";

type Redirect = Pick<NonNullable<Trace["response"]>, "status_code" | "headers">;

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const KEEPS_METHOD = new Set([307, 308]);

/**
 * Returns the request that a 3xx response to `request` asks for. Throws a `CallFailure` if the
 * redirect may not be followed.
 */
export function redirectedRequest(
  request: HttpRequest,
  { status_code: status, headers }: Redirect,
  { followRedirects, maxRedirects }: Behaviour,
  followed: number,
): HttpRequest {
  if (!REDIRECTS.has(status) || !followRedirects)
    throw new CallFailure("redirect_not_followed", `the server answered ${status}`);
  const url = locationOf(headers, request.url);
  if (followed >= maxRedirects)
    throw new CallFailure("too_many_redirects", `more than ${maxRedirects} redirects`);
  return redirected(request, url, status);
}

function locationOf(headers: readonly KeyValue[], base: URL): URL {
  const location = headers.find(({ key }) => key.toLowerCase() === "location");
  const text = textOfLocation(location?.value ?? "");
  if (text === "" || !URL.canParse(text, base.href))
    throw new CallFailure("redirect_invalid", "the redirect names no valid location");
  const url = new URL(text, base);
  url.hash = "";
  url.username = "";
  url.password = "";
  if (url.href.length > MAX_URL_LENGTH)
    throw new CallFailure(
      "redirect_invalid",
      `the redirect leads to a URL of more than ${MAX_URL_LENGTH} characters`,
    );
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new CallFailure(
      "redirect_invalid",
      `the redirect leads to ${url.protocol} instead of http or https`,
    );
  if (url.port === "0") throw new CallFailure("redirect_invalid", "the redirect leads to port 0");
  return url;
}

/**
 * Headers have one character per byte, and a Location in UTF-8 is not rare. Bytes of another
 * encoding lead to where they do in cURL.
 */
function textOfLocation(value: string): string {
  const bytes = Buffer.from(value, "latin1");
  return isUtf8(bytes)
    ? bytes.toString()
    : value.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
}

/** RFC 9110 section 15.4: 301, 302 and 303 become GET without content, except GET and HEAD. */
function redirected(request: HttpRequest, url: URL, status: number): HttpRequest {
  const { method, body, confidential } = request;
  const keeps = KEEPS_METHOD.has(status) || method === "GET" || method === "HEAD";
  const foreign = !isSameSite(request.url, url);
  if (foreign && keeps && confidential?.body)
    throw new CallFailure(
      "redirect_invalid",
      `the redirect leads to ${url.host}, which must not receive the secret in the body`,
    );
  const headers = request.headers.filter(
    ({ key, value }) =>
      !(isHost(key) && (foreign || value === request.url.host)) &&
      !(foreign && isConfidential(request, key)) &&
      (keeps || !key.toLowerCase().startsWith("content-")),
  );
  const host = headers.some(({ key }) => isHost(key)) ? [] : [{ key: "Host", value: url.host }];
  const { clientCertificate, sign, secrets = [] } = request;
  return {
    // The location may repeat a credential that does not follow it.
    secrets: [...secrets, ...credentialsIn(request)],
    ...(confidential && { confidential }),
    ...(!foreign && clientCertificate && { clientCertificate }),
    ...(!foreign && sign && { sign }),
    method: keeps ? method : "GET",
    url,
    headers: [...host, ...headers],
    body: keeps ? body : null,
  };
}

// Amazon S3 refuses these with a presigned URL, whose signature does not cover them.
const OF_SIGNATURE = new Set(["x-amz-date", "x-amz-content-sha256"]);

const isConfidential = ({ confidential, sign }: HttpRequest, name: string): boolean =>
  isCredential(name) ||
  (sign !== undefined && OF_SIGNATURE.has(name.toLowerCase())) ||
  (confidential?.headers.includes(name.toLowerCase()) ?? false);

const isHost = (name: string): boolean => name.toLowerCase() === "host";

/**
 * Credentials stay within an origin, or move from http to https on the default ports of one host.
 */
const isSameSite = (from: URL, to: URL): boolean =>
  from.origin === to.origin ||
  (from.hostname === to.hostname &&
    `${from.protocol}${from.port}` === "http:" &&
    `${to.protocol}${to.port}` === "https:");
