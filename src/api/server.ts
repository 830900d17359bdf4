// The HTTP API as a service: composes its endpoints on one server and owns its listener.
import fastify from "fastify";
import type { FastifyInstance } from "fastify";
import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { Clock } from "../runtime/clock.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Dispatcher } from "../dispatch/dispatch.ts";
import type { Store } from "../store/store.ts";
import { createAuthenticate } from "./authenticate.ts";
import type { Endpoint } from "./http/endpoint.ts";
import { answerClientError, answerErrors } from "./http/error-answers.ts";
import { HttpError } from "./http/errors.ts";
import { acceptJsonBodies } from "./http/content-types.ts";
import type { ApiMetrics } from "./metrics.ts";
import { prettyPrintOnRequest } from "./http/pretty-print.ts";
import { openApiOptions, sharedSchemas } from "./openapi/openapi.ts";
import { createCursors } from "./http/paging.ts";
import { observeRequests } from "./http/request-log.ts";
import { API_PREFIX, serveEndpoint } from "./http/serve-endpoint.ts";
import { apiKeyEndpoints } from "./routes/api-keys.ts";
import { authSettingEndpoints } from "./routes/auth-settings.ts";
import { callEndpoints } from "./routes/calls.ts";
import { deploymentEndpoints } from "./routes/deployments.ts";
import { environmentEndpoints } from "./routes/environment.ts";
import { insightEndpoints } from "./routes/insights.ts";
import { locationEndpoints } from "./routes/locations.ts";
import { reportEndpoints } from "./routes/reports.ts";
import { resultEndpoints } from "./routes/results.ts";
import { runEndpoints } from "./routes/runs.ts";
import { statEndpoints } from "./routes/stats.ts";
import { tokenEndpoints } from "./routes/tokens.ts";
import { workflowEndpoints } from "./routes/workflows.ts";
import { workflowResultEndpoints } from "./routes/workflow-results.ts";

export interface ApiConfig {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Whether a key may be given as the query parameter `_token`. */
  readonly tokenInQuery: boolean;
  /** Signs cursors; the same in every process that serves the API. */
  readonly cursorKey: Uint8Array;
  readonly version: string;
}

export interface ApiDeps {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: ApiMetrics;
  readonly config: ApiConfig;
}

export interface Api extends Service {
  readonly app: FastifyInstance;
  readonly endpoints: readonly Endpoint[];
  /** Where it listens, as a URL; undefined while it does not. */
  address(): string | undefined;
}

const REQUEST_TIMEOUT_MS = 60_000;
const MAX_PARAM_LENGTH = 1024;

export function createApi(deps: ApiDeps): Api {
  const { store, dispatcher, clock, log, config } = deps;
  const cursors = createCursors(config.cursorKey);
  const endpoints = [
    callEndpoints,
    runEndpoints,
    statEndpoints,
    resultEndpoints,
    workflowEndpoints,
    workflowResultEndpoints,
    deploymentEndpoints,
    authSettingEndpoints,
    tokenEndpoints,
    environmentEndpoints,
    reportEndpoints,
    insightEndpoints,
    locationEndpoints,
    apiKeyEndpoints,
  ].flatMap((make) => make({ store, dispatcher, clock, cursors }));
  const stopping = new AbortController();
  const app = createServer(deps, endpoints, stopping.signal);
  let address: string | undefined;
  return {
    name: "api",
    app,
    endpoints,
    address: () => address,
    async start() {
      address = await listen(app, config);
      log.info({ address }, "api listening");
    },
    async stop() {
      stopping.abort();
      await app.close();
      address = undefined;
    },
  };
}

function createServer(
  { store, clock, log, metrics, config }: ApiDeps,
  endpoints: readonly Endpoint[],
  stopping: AbortSignal,
): FastifyInstance {
  const answers = answerErrors(log, endpoints);
  const app = fastify({
    routerOptions: {
      ignoreTrailingSlash: true,
      maxParamLength: MAX_PARAM_LENGTH,
    },
    requestTimeout: REQUEST_TIMEOUT_MS,
    return503OnClosing: false,
    frameworkErrors: answers.onError,
    clientErrorHandler: answerClientError,
  });
  // Handlers check what they are given, once; the schemas of routes are for the OpenAPI document.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.setErrorHandler(answers.onError);
  app.addHook("onRequest", async (request, reply) => {
    if (stopping.aborted) {
      void reply.header("connection", "close");
      throw new HttpError(503, "The service is shutting down");
    }
    if (request.is404) throw answers.unknown(request);
  });
  observeRequests(app, { clock, log, metrics });
  acceptJsonBodies(app);
  prettyPrintOnRequest(app);
  for (const schema of sharedSchemas(endpoints)) app.addSchema(schema);
  void app.register(swagger, openApiOptions(config.version, config.tokenInQuery, endpoints));
  void app.register(swaggerUi, {
    routePrefix: "/docs",
    theme: {
      title: "Sonde API",
      css: [
        {
          filename: "sonde.css",
          content: ".swagger-ui .topbar { display: none }",
        },
      ],
    },
    staticCSP: "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'",
  });
  void app.register(async (scope) => {
    scope.get(`${API_PREFIX}/openapi.json`, { schema: { hide: true } }, async () => app.swagger());
    const { tokenInQuery } = config;
    const authenticate = createAuthenticate({ store, clock, tokenInQuery });
    for (const endpoint of endpoints)
      serveEndpoint(scope, endpoint, { store, authenticate, stopping });
  });
  return app;
}

async function listen(app: FastifyInstance, { host, port }: ApiConfig): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? "";
    const advice =
      code === "EADDRINUSE"
        ? "the port is in use; choose another with SONDE_PORT"
        : `${code || (cause as Error).message}; see SONDE_HOST and SONDE_PORT`;
    throw new Error(`the API cannot listen on ${host}:${port}: ${advice}`, {
      cause,
    });
  }
}
