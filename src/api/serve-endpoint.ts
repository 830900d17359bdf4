// Serves an endpoint over HTTP: authenticates, reads the request, calls the handler, sends the
// answer.
import { hash } from "node:crypto";
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError, notFound } from "../model/errors.ts";
import type { Principal } from "../model/access.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Store } from "../store/store.ts";
import type { Authenticate } from "./authenticate.ts";
import type { Budgets } from "./budgets.ts";
import { carryOut } from "./change.ts";
import { LONGEST_SESSION_MS } from "./sessions.ts";
import { routesOf } from "./endpoint.ts";
import type { ApiRequest, Endpoint, Reply } from "./endpoint.ts";
import { forget, isRepeatable, toRepeatable } from "./idempotency.ts";
import { clientAddress } from "./http/proxies.ts";
import { readParameters } from "./http/parameters.ts";
import { sessionCookie } from "./http/session-cookie.ts";
import { breakOffStalled, sendStreamed } from "./http/streamed-answer.ts";
import type { StreamedAnswer } from "./http/streamed-answer.ts";

export const API_PREFIX = "/api/2";

/** In characters. Shorter answers fit into the system's buffers, read or not. */
const LONG_ANSWER = 65_536;

declare module "fastify" {
  interface FastifyContextConfig {
    /** Its answers last as long as callers like, so their durations are not measured. */
    isLasting?: boolean;
  }
  interface FastifyRequest {
    /** The caller, once authenticated. */
    principal: Principal;
    /** The session's secret, if the request came with one. */
    session: string | undefined;
  }
}

export interface Serving {
  readonly store: Store;
  readonly authenticate: Authenticate;
  readonly budgets: Budgets;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
  readonly log: Logger;
  /** Milliseconds after which a long answer is aborted if its caller reads nothing. */
  readonly stalledAfterMs: number;
}

/** Registers every method and path of the endpoint. */
export function serveEndpoint(app: FastifyInstance, endpoint: Endpoint, serving: Serving): void {
  for (const { method, path } of routesOf(endpoint))
    app.route({
      method,
      url: `${API_PREFIX}${path}`,
      config: { isLasting: endpoint.lasting ?? false },
      // Before the body is read: without a key, it need be neither sent nor parsed.
      async onRequest(request) {
        Object.assign(request, await serving.authenticate(request, endpoint));
      },
      async handler(request, reply) {
        const asked = toApiRequest(endpoint, request, reply, serving);
        const handled = await endpoint.handle(asked);
        if (endpoint.media) {
          const ended = asked.ended();
          return sendStreamed(handled as StreamedAnswer, request, reply, { ...serving, ended });
        }
        const { status, answer, session, headers = {} } = toReply(endpoint, handled);
        if (session !== undefined)
          reply.header("set-cookie", sessionCookie(request, session, LONGEST_SESSION_MS));
        reply.headers(headers);
        const json = JSON.stringify(answer);
        // Some endpoints also answer with runs and statistics: these have no version.
        if (endpoint.versioned && Object.hasOwn(answer as object, "id")) {
          const tag = entityTag(json);
          reply.header("etag", tag);
          if (isRead(request) && isNamed(tag, request.headers["if-none-match"]))
            return sendNotModified(reply);
        }
        if (json.length > LONG_ANSWER) breakOffStalled(reply, serving.stalledAfterMs);
        reply.code(status).type("application/json; charset=utf-8");
        return json;
      },
    });
}

const toReply = ({ status = 200 }: Endpoint, answer: unknown): Reply =>
  typeof status === "number" ? { status, answer } : (answer as Reply);

/** Without accessors: V8 keeps those of object literals, and what they hold, until a full GC. */
function toApiRequest(
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  { store, budgets, stopping }: Serving,
): ApiRequest {
  const params = request.params as Readonly<Record<string, string>>;
  const query = request.query as Readonly<Record<string, unknown>>;
  // No id contains NUL, and PostgreSQL rejects it.
  if (Object.values(params).some((value) => value.includes("\0"))) throw notFound("Object");
  const body = request.body ?? {};
  const { method, headers, principal } = request;
  const key = headers["idempotency-key"];
  const { operationId } = endpoint;
  const values = endpoint.query ? readParameters(endpoint.query, query) : {};
  const repeatable =
    key !== undefined && isRepeatable(method)
      ? toRepeatable(String(key), { method, operationId, params, principal, body })
      : undefined;
  return {
    principal,
    params,
    query: values,
    body,
    session: request.session,
    lastEventId: headers["last-event-id"]?.toString(),
    scope: () => scopeOf(endpoint, params, values, principal),
    change(work) {
      const address = clientAddress(request);
      return carryOut(store, budgets, { principal, address, repeatable }, work);
    },
    forget: async () => repeatable && forget(store, repeatable),
    assertMatches: (document) => assertMatches(headers["if-match"], document),
    ended: () => AbortSignal.any([stopping, closeOf(reply)]),
  };
}

/** Compares filters by their parsed values: omitting a default or giving it is the same list. */
function scopeOf(
  { operationId }: Endpoint,
  params: Readonly<Record<string, string>>,
  { cursor: _cursor, limit: _limit, ...filters }: Readonly<Record<string, unknown>>,
  { owner, org }: Principal,
): string {
  return JSON.stringify([operationId, params, filters, owner, org]);
}

/** RFC 9110 section 8.8.3: changes whenever the object does. */
export const entityTag = (json: string): string =>
  `"${hash("sha256", json, "base64url").slice(0, 22)}"`;

/** Undoes what proxies do to the tag of an answer that they compress: `W/"…"`, `"…-gzip"`. */
const ownTag = (tag: string): string =>
  tag.trim().replace(/^(?:W\/)?("[\w-]{22})(?:-\w+)?"$/, '$1"');

/** Whether a list of tags names this one, by weak comparison. */
export const isNamed = (tag: string, list: string | undefined): boolean =>
  list !== undefined && (list.trim() === "*" || list.split(",").map(ownTag).includes(ownTag(tag)));

/** As a stream, an answer to HEAD gets no length: Fastify gives one without a body the length 0. */
export const sendNotModified = (reply: FastifyReply): FastifyReply =>
  reply.code(304).send(reply.request.method === "HEAD" ? Readable.from([]) : undefined);

const isRead = ({ method }: FastifyRequest): boolean => method === "GET" || method === "HEAD";

function assertMatches(ifMatch: string | undefined, document: unknown): void {
  if (ifMatch === undefined || isNamed(entityTag(JSON.stringify(document)), ifMatch)) return;
  throw new AppError(
    "precondition_failed",
    "The object has changed since you read it (If-Match names another version)",
  );
}

function closeOf({ raw }: FastifyReply): AbortSignal {
  if (raw.closed) return AbortSignal.abort();
  const closed = new AbortController();
  raw.once("close", () => closed.abort());
  return closed.signal;
}
