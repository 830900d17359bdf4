// The HTTP API as a service: its endpoints, the server they run on, and its listener.
import fastify from "fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../runtime/clock.ts";
import { listenFault } from "../runtime/listen-fault.ts";
import type { Logger } from "../runtime/logger.ts";
import { closeIfUnread } from "../runtime/unread-body.ts";
import type { Dispatcher } from "../dispatch/dispatch.ts";
import type { Store } from "../store/store.ts";
import { createAuthenticate } from "./authenticate.ts";
import { createBudgets } from "./budgets.ts";
import type { Budgets, Limits } from "./budgets.ts";
import { createEvents } from "./events.ts";
import { createExports } from "./exports.ts";
import type { Endpoint } from "./endpoint.ts";
import {
  answerClientError,
  answerError,
  answerExpectation,
  SAFE_HEADERS,
  withoutRoute,
} from "./error-answers.ts";
import { HttpError } from "./http/errors.ts";
import { acceptJsonBodies } from "./http/json-body.ts";
import { createCursors } from "./http/paging.ts";
import { trustedProxies } from "./http/proxies.ts";
import { serveEndpoint } from "./serve-endpoint.ts";
import { endIdle } from "./http/idle-connections.ts";
import { observeRequests } from "./metrics.ts";
import type { ApiMetrics } from "./metrics.ts";
import type { Documentation } from "./openapi/documentation.ts";
import { createEndpoints } from "./endpoints.ts";
import { DOCUMENTATION, OPENAPI, serveEntryPoints } from "./entry-points.ts";
import { isForPage, servePages } from "./pages.ts";
import type { PagesConfig } from "./pages.ts";

export interface ApiConfig extends PagesConfig {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Whether to accept a key as the query parameter `_token`. */
  readonly tokenInQuery: boolean;
  /** Proxies trusted to name their clients: their addresses, or how many. Default: none. */
  readonly trustProxy?: number | readonly string[];
  /** Signs cursors; shared by all processes that serve the API. */
  readonly cursorKey: Uint8Array;
  readonly version: string;
  /** Maximum open connections; further ones are closed. */
  readonly maxConnections: number;
  /** Default: 25 s. */
  readonly requestTimeoutMs?: number;
  /** How long a caller may read nothing of a streamed answer. Default: 60 s. */
  readonly stalledAfterMs?: number;
  /** How long a stop waits for requests to arrive and for answers to be read. Default: 10 s. */
  readonly stopGraceMs?: number;
  readonly limits: Limits;
  /** How long an unused session of the pages lasts. */
  readonly sessionIdleMs: number;
  readonly maxEventStreams: number;
}

export interface ApiDeps {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: ApiMetrics;
  readonly config: ApiConfig;
}

export type Api = ReturnType<typeof createApi>;

/** How long a whole request may take to arrive; checked ten times as often. */
const REQUEST_TIMEOUT_MS = 25_000;
const STALLED_AFTER_MS = 60_000;
const STOP_GRACE_MS = 10_000;
const MAX_PARAM_LENGTH = 1024;

/** Handlers validate, and answers are plain JSON: Fastify's compilers need not be loaded. */
const unused = (): never => {
  throw new Error("a route has a schema");
};
const WITHOUT_SCHEMAS = { compilersFactory: { buildValidator: unused, buildSerializer: unused } };

export function createApi(deps: ApiDeps) {
  const { store, dispatcher, clock, log, config } = deps;
  const cursors = createCursors(config.cursorKey);
  const budgets = createBudgets(config.limits, clock);
  const exports = createExports({ ...config, store, clock });
  const events = createEvents({ ...config, store, clock, log });
  const endpoints = createEndpoints({
    store,
    dispatcher,
    clock,
    cursors,
    budgets,
    exports,
    events,
  });
  const stopping = new AbortController();
  const app = createServer(deps, endpoints, budgets, stopping.signal);
  let address: string | undefined;
  return {
    name: "api",
    app,
    endpoints,
    /** The URL it listens on; undefined while stopped. */
    address: () => address,
    async start(): Promise<void> {
      address = await listen(app, config);
      log.info({ address }, "api listening");
    },
    async stop(): Promise<void> {
      stopping.abort();
      const { stopGraceMs = STOP_GRACE_MS } = config;
      const grace = setTimeout(() => app.server.closeAllConnections(), stopGraceMs);
      await app.close();
      clearTimeout(grace);
      address = undefined;
    },
  };
}

function createServer(
  { store, clock, log, metrics, config }: ApiDeps,
  endpoints: readonly Endpoint[],
  budgets: Budgets,
  stopping: AbortSignal,
): FastifyInstance {
  const app = bareServer(log, config);
  observeRequests(app, { clock, log, metrics });
  const pages = servePages(app, config);
  const { sendMissing } = pages;
  if (sendMissing) app.setNotFoundHandler(sendMissing);
  app.addHook("onRequest", (request, reply, done) => {
    reply.headers(SAFE_HEADERS);
    if (stopping.aborted) {
      reply.header("connection", "close");
      done(new HttpError(503, "The service is shutting down"));
    } else if (request.raw.httpVersion === "1.1" && request.headers.host === undefined) {
      reply.header("connection", "close");
      done(new HttpError(400, "The request has no Host header"));
    } else if (!request.is404 || (sendMissing && isForPage(request))) done();
    else done(withoutRoute(endpoints, request));
  });
  app.addHook("onSend", ({ raw }, reply, payload, send) => {
    const closing = closeIfUnread(raw, reply.raw);
    if (closing) closing.then(() => send(null, payload), send);
    else send(null, payload);
  });
  acceptJsonBodies(app);
  endIdle(app);
  prettyPrintOnDemand(app);
  serveEntryPoints(app, config, pages.send);
  serveDocumentation(app, endpoints, config);
  const authenticate = createAuthenticate({ ...config, store, clock });
  const { stalledAfterMs = STALLED_AFTER_MS } = config;
  const serving = { store, authenticate, budgets, stopping, log, stalledAfterMs };
  for (const endpoint of endpoints) serveEndpoint(app, endpoint, serving);
  return app;
}

/** Creates the server with its limits and error answers, but without routes. */
function bareServer(log: Logger, config: ApiConfig): FastifyInstance {
  const onError = (error: unknown, request: FastifyRequest, reply: FastifyReply): void =>
    answerError(log, error, request, reply);
  const { requestTimeoutMs: requestTimeout = REQUEST_TIMEOUT_MS } = config;
  const app = fastify({
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_PARAM_LENGTH },
    requestTimeout,
    http: {
      requestTimeout,
      requireHostHeader: false, // Node's own answer would have no body.
      headersTimeout: requestTimeout,
      connectionsCheckingInterval: requestTimeout / 10,
    },
    return503OnClosing: false,
    trustProxy: trustedProxies(config.trustProxy),
    // No hook sees these requests.
    async frameworkErrors(error, request, reply) {
      await closeIfUnread(request.raw, reply.raw);
      onError(error, request, reply.headers(SAFE_HEADERS));
    },
    clientErrorHandler: answerClientError,
    schemaController: WITHOUT_SCHEMAS,
  });
  app.server.maxConnections = config.maxConnections;
  app.server.on("checkExpectation", (request, response) => {
    void answerExpectation(request, response);
  });
  app.setErrorHandler(onError);
  return app;
}

/** `debug=1` in the query indents the JSON of the answer. */
function prettyPrintOnDemand(app: FastifyInstance): void {
  app.addHook("onSend", (request, reply, payload, done) => {
    const { debug } = request.query as { readonly debug?: unknown };
    const isWanted =
      debug === "1" &&
      typeof payload === "string" &&
      String(reply.getHeader("content-type")).startsWith("application/json");
    done(null, isWanted ? `${JSON.stringify(JSON.parse(payload), null, 2)}\n` : payload);
  });
}

/** Loads the documentation when it is first requested. */
function serveDocumentation(
  app: FastifyInstance,
  endpoints: readonly Endpoint[],
  config: ApiConfig,
): void {
  let documentation: Promise<Documentation> | undefined;
  const load = async (): Promise<Documentation> => {
    const { createDocumentation } = await import("./openapi/documentation.ts");
    return createDocumentation(endpoints, config);
  };
  const loaded = (): Promise<Documentation> => (documentation ??= load());
  for (const url of [OPENAPI, "/docs/json"])
    app.get(url, async (request, reply) => (await loaded()).sendDocument(request, reply));
  for (const url of [DOCUMENTATION, `${DOCUMENTATION}/*`])
    app.get(url, async (request, reply) => {
      const { pages } = await loaded();
      await closeIfUnread(request.raw, reply.raw);
      reply.hijack();
      pages.routing(request.raw, reply.raw);
    });
}

async function listen(app: FastifyInstance, { host, port }: ApiConfig): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (cause) {
    throw listenFault(cause, {
      what: "the API",
      host,
      port,
      inUse: "choose another with SONDE_PORT",
      otherwise: "correct SONDE_HOST or SONDE_PORT",
    });
  }
}
