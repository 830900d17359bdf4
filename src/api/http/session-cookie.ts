// The cookie of the web pages' session, and the requests that may use it.
import type { FastifyRequest } from "fastify";
import { parseCookie, stringifySetCookie } from "cookie";
import { AppError } from "../../model/errors.ts";
import { show } from "../../model/validate.ts";

/** Browsers take this prefix from secure origins only, for the whole host and no other. */
const nameOf = (isSecure: boolean): string => (isSecure ? "__Host-sonde" : "sonde");

/** The secret of the request's session. */
export const sessionSecretOf = ({ headers, protocol }: FastifyRequest): string | undefined =>
  headers.cookie === undefined
    ? undefined
    : parseCookie(headers.cookie)[nameOf(protocol === "https")];

/** The value of Set-Cookie; `secret` null: removes the cookie. */
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

/** Marks a request that a page made by itself, without its reader. */
const BACKGROUND = "sonde-background";

/** Whether the request counts as a use of its session: an open page alone must not keep it. */
export const isUse = ({ headers }: FastifyRequest): boolean => headers[BACKGROUND] === undefined;

const SAFE_METHODS = new Set(["GET", "HEAD"]);

/**
 * Throws `forbidden` for a change that another site asks for with a browser's cookie. Browsers say
 * where a request comes from: in Sec-Fetch-Site on secure origins and loopback, else in Origin.
 * `publicUrl`: what browsers know the service as.
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
  throw new AppError(
    "forbidden",
    `A session makes changes from its own pages only; this request is from ${show(origin ?? site ?? "an unknown origin")}`,
  );
}
