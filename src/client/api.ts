// A client of the REST API: sends requests with a key, reads lists page by page, and reports errors
// in the API's words. The key appears in no message.
import { invalid } from "../model/errors.ts";
import { harmless } from "./text.ts";

export type Json = { readonly [name: string]: unknown };
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface ApiAccess {
  /** Without a path: `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly key: string;
  /** Where the key came from, for error messages. */
  readonly keyFrom: string;
}

export interface ApiRequest {
  readonly query?: Query;
  readonly body?: Json;
  /** Milliseconds that the API may take beyond the usual timeout. */
  readonly extraMs?: number;
}

export interface Wanted {
  /** The most items per page, capped at what the API allows. Does not limit the list. */
  readonly limit: number;
  /** The field of the answer that holds the items. */
  readonly field?: "results" | "stats";
}

export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export type Api = ReturnType<typeof createApi>;

const TIMEOUT_MS = 30_000;
const MAX_PAGE = 1000;
/** What proxies answer for a service that is down or late. */
const OF_PROXIES: ReadonlySet<number> = new Set([502, 503, 504]);

export function createApi(access: ApiAccess) {
  const send = async (method: string, path: string, options: ApiRequest = {}): Promise<Json> => {
    const response = await exchange(access, method, path, options);
    const answer = await jsonOf(access, response, options);
    if (response.ok) return answer;
    throw new ApiError(response.status, faultOf(access, response.status, answer));
  };
  return {
    /** Rejects with an `ApiError` if the answer is an error. */
    send,
    get: (path: string, query: Query = {}): Promise<Json> => send("GET", path, { query }),
    /** Yields items page after page, for as long as the caller asks for more. */
    async *list(path: string, query: Query, wanted: Wanted): AsyncGenerator<Json, void, void> {
      const { limit, field = "results" } = wanted;
      let cursor: string | undefined;
      do {
        const page = await send("GET", path, {
          query: { ...query, cursor, limit: Math.min(limit, MAX_PAGE) },
        });
        const items = page[field];
        if (!Array.isArray(items))
          throw new Error(
            `${access.url} answered without a list: set SONDE_API_URL to the API of Sonde`,
          );
        yield* items as Json[];
        const meta = page["meta"] as { readonly more?: boolean; readonly next_cursor?: string };
        cursor = meta.more ? meta.next_cursor : undefined;
      } while (cursor !== undefined);
    },
  };
}

/**
 * Returns a path below the API's prefix with its parts encoded, such as "/calls/" and an id. Throws
 * for a part that would lead to another resource.
 */
export function pathOf(strings: TemplateStringsArray, ...parts: readonly string[]): string {
  const [noName] = parts.filter((part) => ["", ".", ".."].includes(part));
  if (noName !== undefined) throw invalid(`'${noName}' is not an id or a name`);
  return String.raw({ raw: strings }, ...parts.map(encodeURIComponent));
}

async function exchange(
  { url, key }: ApiAccess,
  method: string,
  path: string,
  { query = {}, body, extraMs = 0 }: ApiRequest,
): Promise<Response> {
  const target = new URL(`${url}/api/2${path}`);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) target.searchParams.set(name, String(value));
  try {
    return await fetch(target, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS + extraMs),
    });
  } catch (cause) {
    throw unreachable(url, cause as Error, extraMs);
  }
}

function unreachable(url: string, cause: Error, extraMs: number): Error {
  const reason = reasonOf(cause, extraMs);
  // The codes of OpenSSL's certificate checks and of Node's host name check.
  const message = /CERT|SIGNATURE/.test(reason)
    ? `cannot trust ${url} (${reason}): give it a valid certificate for its name; if an authority of your own issued it, set NODE_EXTRA_CA_CERTS to that authority's`
    : `no answer from ${url} (${reason}): start \`sonde serve\` there, or set SONDE_API_URL to the service's address`;
  return new Error(message, { cause });
}

/** Prefers the cause: fetch itself says only "fetch failed" about a failed connection. */
function reasonOf(error: Error, extraMs: number): string {
  if (error.name === "TimeoutError") return `none within ${(TIMEOUT_MS + extraMs) / 1000} s`;
  const { cause } = error;
  return cause instanceof Error
    ? ((cause as NodeJS.ErrnoException).code ?? cause.message)
    : error.message;
}

async function jsonOf(
  { url }: ApiAccess,
  response: Response,
  { extraMs = 0 }: ApiRequest,
): Promise<Json> {
  const { status, headers } = response;
  const to = headers.get("location");
  if (to !== null && status >= 300 && status < 400)
    throw new Error(
      `${url} redirects to ${harmless(new URL(to, response.url || url).origin)}: set SONDE_API_URL to that address if you trust it`,
    );
  const text = await response.text().catch((cause: Error) => {
    throw unreachable(url, cause, extraMs);
  });
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    const type = headers.get("content-type") ?? "no content type";
    const advice = OF_PROXIES.has(status)
      ? "the proxy there has no answer from the service: start `sonde serve` behind it, or correct the proxy"
      : "set SONDE_API_URL to the API of Sonde";
    throw new Error(`${url} answered ${status} with ${harmless(type)} instead of JSON: ${advice}`, {
      cause,
    });
  }
}

function faultOf({ url, keyFrom }: ApiAccess, status: number, answer: Json): string {
  const said = typeof answer["error_msg"] === "string" ? answer["error_msg"] : "no reason given";
  const fault = said.split("\n").map(harmless).join("\n  ");
  return status === 401
    ? `${fault}: ${url} does not accept the key of ${keyFrom}`
    : `${fault} (HTTP ${status})`;
}
