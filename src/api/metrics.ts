// Request metrics and the request log. Neither holds a path or a query, which may contain keys.
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import { Counter, Histogram } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";

export type ApiMetrics = ReturnType<typeof createApiMetrics>;

export function createApiMetrics(registry: Registry) {
  const rejections = new Counter({
    name: "sonde_api_rejections_total",
    help: "Requests that were not served, by reason.",
    labelNames: ["reason"],
    registers: [registry],
  });
  for (const reason of Object.values(REASONS)) rejections.inc({ reason }, 0);
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
    rejections,
  };
}

const REASONS: Readonly<Record<number, string>> = {
  400: "invalid",
  401: "unauthenticated",
  403: "forbidden",
  412: "conflict",
  413: "too_large",
  415: "invalid",
  422: "invalid",
  429: "rate_limited",
  431: "too_large",
  503: "unavailable",
};

declare module "fastify" {
  interface FastifyRequest {
    /** When it arrived, in monotonic milliseconds; 0 if it could not be parsed. */
    began: number;
    /** Whether the metrics and the log have it. */
    isCounted: boolean;
  }
}

/** The caller left before the answer. Not an HTTP status, but the one that proxies log. */
const ABANDONED = 499;

/** Logs and measures each request to the server, by the pattern of its route. */
export function observeRequests(
  app: FastifyInstance,
  deps: { readonly clock: Clock; readonly log: Logger; readonly metrics: ApiMetrics },
): void {
  const { clock, log, metrics } = deps;
  const instrumentsOf = createInstruments(metrics);
  const observe = (request: FastifyRequest, status: number): void => {
    request.isCounted = true;
    const end = clock.monotonic();
    const duration_ms = end - (request.began || end);
    const { method, routeOptions } = request;
    const { url: route = "unknown", config } = routeOptions;
    const { requests, durations } = instrumentsOf(method, route, String(status));
    requests.inc();
    if (!config.isLasting) durations.observe(duration_ms / 1000);
    const reason = REASONS[status];
    if (reason !== undefined) metrics.rejections.inc({ reason });
    const key_id = request.principal?.key_id;
    log.debug(
      { request_id: request.id, key_id, method, route, status, duration_ms },
      "request answered",
    );
  };
  app.decorateRequest("began", 0);
  app.decorateRequest("isCounted", false);
  app.addHook("onRequest", (request, { raw }, done) => {
    request.began = clock.monotonic();
    // The hook `onRequestAbort` misses callers that leave once their body has been read.
    raw.once("close", () => {
      if (!request.isCounted) observe(request, ABANDONED);
    });
    done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    observe(request, reply.statusCode);
    done();
  });
}

/** Caches instruments, since looking up labels is most of what a metric costs. */
function createInstruments({ requests, durations }: ApiMetrics) {
  const make = (method: string, route: string, status: string) => ({
    requests: requests.labels(method, route, status),
    durations: durations.labels(method, route),
  });
  const made = new Map<string, ReturnType<typeof make>>();
  return (method: string, route: string, status: string) => {
    const key = `${method} ${route} ${status}`;
    const found = made.get(key);
    if (found) return found;
    const instruments = make(method, route, status);
    made.set(key, instruments);
    return instruments;
  };
}
