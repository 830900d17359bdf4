// The metrics of token renewal.
import { Counter, Gauge, Histogram } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";

export type RenewalMetrics = ReturnType<typeof createRenewalMetrics>;

export function createRenewalMetrics(registry: Registry) {
  const registers = [registry];
  const attempts = new Counter({
    name: "sonde_renewal_attempts_total",
    help: "Attempts to renew a token, by outcome: renewed, failed, or superseded by its owner's change.",
    labelNames: ["outcome"],
    registers,
  });
  // Starts at 0: the first of an outcome then shows as an increase.
  for (const outcome of ["renewed", "failed", "superseded"]) attempts.inc({ outcome }, 0);
  return {
    attempts,
    duration: new Histogram({
      name: "sonde_renewal_duration_seconds",
      help: "Time from the request to a token endpoint until its answer is stored.",
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    due: new Gauge({
      name: "sonde_renewal_due_tokens",
      help: "Tokens in use that were due for a renewal check at the latest beat.",
      registers,
    }),
    failing: new Gauge({
      name: "sonde_renewal_failing_tokens",
      help: "Tokens whose latest renewal by this process failed.",
      registers,
    }),
  };
}
