// Request metrics and the request log. Neither holds a path or a query, which may contain keys.
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import { Counter, Histogram } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";

export type ApiMetrics = ReturnType<typeof createApiMetrics>;

export function createApiMetrics(registry: Registry) {
  return {
    requests: new Counter({
      name: "sonde_api_requests_total",
      help: "Requests answered.",
      labelNames: ["method", "route", "status"],
      registers: [registry],
    }),
    durations: new Histogram({
      name: "sonde_api_request_duration_seconds",
      help: "From the arrival of a request to the end of its answer.",
      labelNames: ["method", "route"],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60],
      registers: [registry],
    }),
  };
}

/** The caller left before the answer. Not a status of HTTP, but the one that proxies log. */
const ABANDONED = 499;

/** Logs and measures each request to the server, by the pattern of its route. */
export function observeRequests(
  app: FastifyInstance,
  deps: { readonly clock: Clock; readonly log: Logger; readonly metrics: ApiMetrics },
): void {
  const { clock, log, metrics } = deps;
  const began = new WeakMap<FastifyRequest, number>();
  const observe = (request: FastifyRequest, status: number): void => {
    const end = clock.monotonic();
    const duration_ms = end - (began.get(request) ?? end);
    const { method } = request;
    const route = request.routeOptions.url ?? "unknown";
    metrics.requests.inc({ method, route, status: String(status) });
    metrics.durations.observe({ method, route }, duration_ms / 1000);
    log.debug({ method, route, status, duration_ms }, "request answered");
  };
  app.addHook("onRequest", async (request) => {
    began.set(request, clock.monotonic());
  });
  app.addHook("onResponse", async (request, reply) => observe(request, reply.statusCode));
  app.addHook("onRequestAbort", async (request) => observe(request, ABANDONED));
}
