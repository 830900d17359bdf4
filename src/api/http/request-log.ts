// One line and one observation for each request. Neither holds its path or its query: keys may
// stand there.
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Clock } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { ApiMetrics } from "../metrics.ts";

/**
 * The caller went away before it was answered; there is no such status in HTTP, but proxies use
 * this one.
 */
const ABANDONED = 499;

export function observeRequests(
  app: FastifyInstance,
  {
    clock,
    log,
    metrics,
  }: {
    readonly clock: Clock;
    readonly log: Logger;
    readonly metrics: ApiMetrics;
  },
): void {
  const began = new WeakMap<FastifyRequest, number>();
  const observe = (request: FastifyRequest, status: number): void => {
    const end = clock.monotonic();
    const duration_ms = end - (began.get(request) ?? end);
    const { method } = request;
    const route = request.routeOptions.url ?? "unknown";
    metrics.observeRequest({ method, route, status }, duration_ms);
    log.debug({ method, route, status, duration_ms }, "request answered");
  };
  app.addHook("onRequest", async (request) => {
    began.set(request, clock.monotonic());
  });
  app.addHook("onResponse", async (request, reply) => observe(request, reply.statusCode));
  app.addHook("onRequestAbort", async (request) => observe(request, ABANDONED));
}
