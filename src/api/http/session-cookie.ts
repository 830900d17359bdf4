// The cookie of the web pages' session, and the requests that may use it.
import type { FastifyRequest } from "fastify";
import { parseCookie, stringifySetCookie } from "cookie";
import { AppError } from "../../model/errors.ts";
import { show } from "../../model/validate.ts";

/** Browsers accept the prefix `__Host-` only from secure origins, and only for the exact host. */
const nameOf = (isSecure: boolean): string => (isSecure ? "__Host-sonde" : "sonde");

/** The secret of the request's session. */
export const sessionSecretOf = ({ headers, protocol }: FastifyRequest): string | undefined =>
  headers.cookie === undefined
    ? undefined
    : parseCookie(headers.cookie)[nameOf(protocol === "https")];

/** Returns the value of Set-Cookie; if `secret` is null, it removes the cookie. */
export const sessionCookie = (
  { protocol }: Pick<FastifyRequest, "protocol">,
  secret: string | null,
  maxAgeMs: number,
): string => {
  const secure = protocol === "https";
  return stringifySetCookie({
    name: nameOf(secure),
    value: secret ?? "",
    maxAge: secret === null ? 0 : Math.floor(maxAgeMs / 1000),
    path: "/",
    httpOnly: true,
    sameSite: "strict",
    secure,
  });
};

/** The header of a request that a page makes on its own, without its user. */
const BACKGROUND = "sonde-background";

/** Whether the request counts as a use of its session: an open page alone must not keep it. */
export const isUse = ({ headers }: FastifyRequest): boolean => headers[BACKGROUND] === undefined;

const SAFE_METHODS = new Set(["GET", "HEAD"]);

/**
 * Throws `forbidden` for a cross-site change with a browser's cookie. Browsers send a request's
 * origin in Sec-Fetch-Site on secure origins and loopback, otherwise in Origin. `publicUrl` is the
 * service's URL in browsers.
 */
export function assertSameOrigin(
  { method, headers, host }: FastifyRequest,
  publicUrl: string | undefined,
): void {
  if (SAFE_METHODS.has(method)) return;
  const { origin, "sec-fetch-site": site } = headers;
  if (site === "same-origin") return;
  const from = site === undefined && origin !== undefined ? URL.parse(origin)?.host : undefined;
  const ours = [host, headers.host, publicUrl && new URL(publicUrl).host];
  if (from !== undefined && from !== "" && ours.includes(from)) return;
  const where =
    origin === undefined ? "does not say where it comes from" : `is from ${show(origin)}`;
  throw new AppError(
    "forbidden",
    `A session can make changes only from Sonde's own pages; this request ${where}`,
  );
}
