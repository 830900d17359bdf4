// Puts an endpoint on the HTTP server: who asks, what with, and how the answer is sent.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError, notFound } from "../model/errors.ts";
import { hasLevel } from "../model/access.ts";
import type { AccessLevel, Principal } from "../model/access.ts";
import type { Authenticate } from "./authenticate.ts";
import type { ApiRequest, Endpoint } from "./endpoint.ts";
import { entityTag } from "./entity-tag.ts";
import { describe } from "./openapi.ts";
import { readParameters } from "./parameters.ts";

export const API_PREFIX = "/api/2";

export interface Serving {
  readonly authenticate: Authenticate;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
}

export function serveEndpoint(
  app: FastifyInstance,
  endpoint: Endpoint,
  { authenticate, stopping }: Serving,
): void {
  const principals = new WeakMap<FastifyRequest, Principal>();
  for (const path of [endpoint.path, ...(endpoint.aliases ?? [])])
    for (const method of endpoint.methods)
      app.route({
        method,
        url: `${API_PREFIX}${path}`,
        schema: describe(endpoint, method, path),
        // Before the body is read: a stranger is not made to send it, nor we to parse it.
        async onRequest(request) {
          const principal = await authenticate({
            headers: request.headers,
            query: request.query as Record<string, unknown>,
            ip: request.ip,
          });
          assertLevel(principal, endpoint.level);
          principals.set(request, principal);
        },
        async handler(request, reply) {
          const principal = principals.get(request) as Principal;
          const answer = await endpoint.handle(
            toApiRequest(endpoint, request, reply, principal, stopping),
          );
          if (endpoint.versioned) void reply.header("etag", entityTag(answer));
          return reply.code(endpoint.status ?? 200).send(answer);
        },
      });
}

function assertLevel(principal: Principal, needed: AccessLevel): void {
  if (!hasLevel(principal, needed))
    throw new AppError(
      "forbidden",
      `This needs a key of access level ${needed}; yours is ${principal.access_level}`,
    );
}

function toApiRequest(
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  principal: Principal,
  stopping: AbortSignal,
): ApiRequest {
  const params = request.params as Readonly<Record<string, string>>;
  const query = request.query as Readonly<Record<string, unknown>>;
  // No id that we made has one, and not every database can be asked for it.
  if (Object.values(params).some((value) => value.includes("\0")))
    throw notFound("Object");
  return {
    principal,
    params,
    query: readParameters(endpoint.query ?? {}, query),
    body: request.body ?? {},
    ifMatch: request.headers["if-match"],
    scope: scopeOf(endpoint, params, query, principal),
    get ended() {
      return AbortSignal.any([stopping, closeOf(reply)]);
    },
  };
}

function scopeOf(
  { operationId, query: known = {} }: Endpoint,
  params: Readonly<Record<string, string>>,
  query: Readonly<Record<string, unknown>>,
  { owner, org }: Principal,
): string {
  const filters = Object.keys(known)
    .filter((name) => name !== "cursor" && name !== "limit")
    .map((name) => [name, query[name] ?? ""]);
  return JSON.stringify([operationId, params, filters, owner, org]);
}

function closeOf(reply: FastifyReply): AbortSignal {
  const closed = new AbortController();
  reply.raw.once("close", () => closed.abort());
  return closed.signal;
}
