// Request metrics and the request log. Neither holds a path or a query, which may contain keys.
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Clock } from "../runtime/clock.ts";
import { countDuration, durationSamples, newDurations } from "../runtime/durations.ts";
import type { Durations } from "../runtime/durations.ts";
import { labelTextOf } from "../runtime/exposition.ts";
import type { Sample } from "../runtime/exposition.ts";
import type { Logger } from "../runtime/logger.ts";
import { Counter, registerSampled } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";

export type ApiMetrics = ReturnType<typeof createApiMetrics>;

/** Seconds. */
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

/** The answers to one method of a route. */
interface Answers {
  readonly labelText: string;
  readonly byStatus: Map<number, number>;
  readonly durations: Durations;
}

export function createApiMetrics(registry: Registry) {
  const rejections = new Counter({
    name: "sonde_api_rejections_total",
    help: "Requests that were not served, by reason.",
    labelNames: ["reason"],
    registers: [registry],
  });
  for (const reason of Object.values(REASONS)) rejections.inc({ reason }, 0);
  const answers = new Map<string, Answers>();
  registerAnswers(registry, () => [...answers.values()]);

  const answersOf = (method: string, route: string): Answers => {
    const key = `${method} ${route}`;
    const found = answers.get(key);
    if (found) return found;
    const made = newAnswers(method, route);
    answers.set(key, made);
    return made;
  };
  return {
    /** `seconds`: from the arrival of the request; undefined for one that lasts as it likes. */
    answered(method: string, route: string, status: number, seconds?: number): void {
      const { byStatus, durations } = answersOf(method, route);
      byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
      if (seconds !== undefined) countDuration(durations, seconds);
      const reason = REASONS[status];
      if (reason !== undefined) rejections.inc({ reason });
    },
  };
}

const newAnswers = (method: string, route: string): Answers => ({
  labelText: labelTextOf({ method, route }),
  byStatus: new Map(),
  durations: newDurations(DURATION_BUCKETS),
});

const DURATION = "sonde_api_request_duration_seconds";

function registerAnswers(registry: Registry, all: () => readonly Answers[]): void {
  registerSampled({
    name: "sonde_api_requests_total",
    help: "Requests answered.",
    type: "counter",
    registers: [registry],
    samples: () => all().flatMap(countsOf),
  });
  registerSampled({
    name: DURATION,
    help: "From the arrival of a request to the end of its answer.",
    type: "histogram",
    registers: [registry],
    samples: () =>
      all()
        .filter(({ durations }) => durations.count > 0)
        .flatMap(({ durations, labelText }) => durationSamples(DURATION, durations, labelText)),
  });
}

const countsOf = ({ byStatus, labelText }: Answers): Sample[] =>
  [...byStatus].map(([status, value]) => ({ labelText: `${labelText},status="${status}"`, value }));

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
  const observe = (request: FastifyRequest, status: number): void => {
    request.isCounted = true;
    const end = clock.monotonic();
    const duration_ms = end - (request.began || end);
    const { method, routeOptions } = request;
    const { url: route = "unknown", config } = routeOptions;
    metrics.answered(method, route, status, config.isLasting ? undefined : duration_ms / 1000);
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
