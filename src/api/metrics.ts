// What the API counts of its requests.
import { Counter, Histogram } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";

export interface RequestObserved {
  readonly method: string;
  /** The route's pattern, never the path itself. */
  readonly route: string;
  readonly status: number;
}

export interface ApiMetrics {
  observeRequest(request: RequestObserved, durationMs: number): void;
}

export function createApiMetrics(registry: Registry): ApiMetrics {
  const requests = new Counter({
    name: "sonde_api_requests_total",
    help: "Requests answered.",
    labelNames: ["method", "route", "status"],
    registers: [registry],
  });
  const durations = new Histogram({
    name: "sonde_api_request_duration_seconds",
    help: "From the arrival of a request to the end of its answer.",
    labelNames: ["method", "route"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60],
    registers: [registry],
  });
  return {
    observeRequest({ method, route, status }, durationMs) {
      requests.inc({ method, route, status: String(status) });
      durations.observe({ method, route }, durationMs / 1000);
    },
  };
}
