// Calls the public API with the session of the pages.
import type { Role } from "../../src/model/access.ts";
import { now } from "./now.ts";
import { isReaderAway } from "./reader.ts";

/**
 * The error that the API answered with, in its own words; status 0 if no complete answer arrived.
 */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }
}

/** No complete answer arrived in time. Another attempt would keep the reader waiting as long. */
export class LateError extends ApiError {}

/** Returns the error if it says that the object does not exist, or no longer. */
export const missingOf = (error: unknown): ApiError | null =>
  error instanceof ApiError && error.status === 404 ? error : null;

export type Method = "GET" | "POST" | "PUT" | "DELETE";

export interface Options {
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Returns the URL of a path below the API's root, such as `calls/`. */
export const urlOf = (path: string): string => new URL(`api/2/${path}`, document.baseURI).href;

/** Called for each answer that says the session has ended. */
let signedOut = (): Promise<boolean> => Promise.resolve(false);

/** `listener` resolves to true if the same reader has signed in again: the request is repeated. */
export function onSignedOut(listener: () => Promise<boolean>): void {
  signedOut = listener;
}

/** A 401 on this path is left to its callers: they ask about the session itself. */
const SESSION = "session/";

/** Rejects with `ApiError`, with status 0 if no complete answer arrived. */
export const send = async <T>(method: Method, path: string, options?: Options): Promise<T> =>
  (await sendVersioned<T>(method, path, options)).object;

/** An object as the API answers with it. */
export interface Versioned<T> {
  readonly object: T;
  /** The value for `If-Match`; null if the API sends none. */
  readonly version: string | null;
  /** What the reader is to the object. */
  readonly role: Role;
}

/** The last change without a complete answer, and its key: Sonde does not repeat it. */
let unanswered: { readonly change: string; readonly key: string; readonly at: number } | undefined;

/** The same change later than this is another one. */
const RETRIED_WITHIN_MS = 10 * 60_000;

/** Returns the headers with which a change may be repeated. */
function repeatable(change: string): Readonly<Record<string, string>> {
  const at = now();
  const isRetry = unanswered?.change === change && at - unanswered.at < RETRIED_WITHIN_MS;
  if (!unanswered || !isRetry) unanswered = { change, key: newKey(), at };
  return { "idempotency-key": unanswered.key };
}

/**
 * Tells whether the answer says what became of the change. It does not if Sonde has failed, or has
 * refused the request for its session or for its number before it looked at the change.
 */
const isAnswered = ({ status }: Response): boolean =>
  status < 500 && status !== 401 && status !== 429;

/** `crypto.randomUUID` exists only over https. */
const newKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join("-");

/** More than Sonde needs: a connection may be dead, and the browser would wait for minutes. */
const ANSWER_WITHIN_MS = 60_000;

const NOT_RESPONDING = "Sonde is not responding. Is it running and reachable from here?";

function timeLimit(): AbortSignal {
  const limit = new AbortController();
  setTimeout(() => limit.abort(), ANSWER_WITHIN_MS);
  return limit.signal;
}

/** Like `send`. With an `If-Match` header, status 412: someone has changed the object. */
export async function sendVersioned<T>(
  method: Method,
  path: string,
  options: Options = {},
): Promise<Versioned<T>> {
  const { body, headers = {}, signal } = options;
  const json = body && JSON.stringify(body);
  const change = [method, path, json].join(" ");
  const limit = timeLimit();
  const response = await fetch(urlOf(path), {
    method,
    headers: {
      ...headers,
      ...(json && { "content-type": "application/json", ...repeatable(change) }),
      // Such a request does not keep the session alive.
      ...(isReaderAway() && { "sonde-background": "1" }),
    },
    ...(json && { body: json }),
    signal: AbortSignal.any([limit, ...(signal ? [signal] : [])]),
  }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause;
    const Failure = limit.aborted ? LateError : ApiError;
    throw new Failure(0, NOT_RESPONDING);
  });
  const answer = (await response.json().catch((cause: unknown) => {
    if (signal?.aborted) throw cause;
    if (limit.aborted) throw new LateError(0, NOT_RESPONDING);
    if (response.ok) throw new ApiError(0, "Sonde's answer was cut off. Try again.");
    return {};
  })) as T & { readonly error_msg?: string };
  if (isAnswered(response) && unanswered?.change === change) unanswered = undefined;
  if (response.ok)
    return {
      object: answer,
      version: response.headers.get("etag"),
      // Only owners can change an object: the answer to a change names no role.
      role: (response.headers.get("sonde-role") ?? "owner") as Role,
    };
  if (response.status === 401 && path !== SESSION && (await signedOut()))
    return sendVersioned(method, path, options);
  throw new ApiError(
    response.status,
    // Sonde's own errors have a message.
    answer.error_msg ?? `A proxy in front of Sonde answered with status ${response.status}`,
  );
}

/** Adds parameters to `path`, which may have a query; leaves out undefined and empty ones. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [[name, String(value)]],
  );
  const text = new URLSearchParams(given).toString();
  return text === "" ? path : `${path}${path.includes("?") ? "&" : "?"}${text}`;
}

/** A page of a list. */
export interface List<T> {
  readonly meta: { readonly more: boolean; readonly next_cursor: string };
  readonly results: readonly T[];
}
