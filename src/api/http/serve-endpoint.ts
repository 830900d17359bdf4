// Puts an endpoint on the HTTP server: who asks, what with, and how the answer is sent.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError, notFound } from "../../model/errors.ts";
import { hasLevel } from "../../model/access.ts";
import type { AccessLevel, Principal } from "../../model/access.ts";
import type { Store } from "../../store/store.ts";
import type { Authenticate } from "../authenticate.ts";
import { createChanges } from "../change.ts";
import type { ApiRequest, Endpoint, Reply } from "./endpoint.ts";
import { entityTag } from "./entity-tag.ts";
import { isRepeatable, toRepeatable } from "../idempotency.ts";
import { describe } from "../openapi/openapi.ts";
import { readParameters } from "./parameters.ts";

export const API_PREFIX = "/api/2";

export interface Serving {
  readonly store: Store;
  readonly authenticate: Authenticate;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
}

export function serveEndpoint(app: FastifyInstance, endpoint: Endpoint, serving: Serving): void {
  const principals = new WeakMap<FastifyRequest, Principal>();
  for (const path of [endpoint.path, ...(endpoint.aliases ?? [])])
    for (const method of endpoint.methods)
      app.route({
        method,
        url: `${API_PREFIX}${path}`,
        schema: describe(endpoint, method, path),
        // Before the body is read: a stranger is not made to send it, nor we to parse it.
        async onRequest(request) {
          const principal = await serving.authenticate({
            headers: request.headers,
            query: request.query as Record<string, unknown>,
            ip: request.ip,
          });
          assertLevel(principal, endpoint.level);
          principals.set(request, principal);
        },
        async handler(request, reply) {
          const principal = principals.get(request) as Principal;
          const { status, answer } = toReply(
            endpoint,
            await endpoint.handle(toApiRequest(endpoint, request, reply, principal, serving)),
          );
          if (endpoint.versioned) void reply.header("etag", entityTag(answer));
          return reply.code(status).send(answer);
        },
      });
}

const toReply = ({ status = 200 }: Endpoint, answer: unknown): Reply =>
  status === "of the answer" ? (answer as Reply) : { status, answer };

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
  { store, stopping }: Serving,
): ApiRequest {
  const params = request.params as Readonly<Record<string, string>>;
  const query = request.query as Readonly<Record<string, unknown>>;
  // No id that we made has one, and not every database can be asked for it.
  if (Object.values(params).some((value) => value.includes("\0"))) throw notFound("Object");
  const body = request.body ?? {};
  const { method, headers, ip: address } = request;
  const { operationId } = endpoint;
  const repeatable = isRepeatable(method)
    ? toRepeatable(headers["idempotency-key"], {
        method,
        operationId,
        params,
        principal,
        body,
      })
    : undefined;
  return {
    ...createChanges(store, { principal, address, repeatable }),
    principal,
    params,
    query: readParameters(endpoint.query ?? {}, query),
    body,
    ifMatch: headers["if-match"],
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

function closeOf({ raw }: FastifyReply): AbortSignal {
  if (raw.closed) return AbortSignal.abort();
  const closed = new AbortController();
  raw.once("close", () => closed.abort());
  return closed.signal;
}
