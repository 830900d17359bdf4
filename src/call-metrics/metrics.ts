// The metrics of measured calls, under the names that blackbox_exporter dashboards expect.
import { parseInstant } from "../model/instant.ts";
import type { Timing } from "../model/timing.ts";
import { durationSamples } from "../runtime/durations.ts";
import type { Sample } from "../runtime/exposition.ts";
import { registerReading, registerSampled } from "../runtime/metrics.ts";
import type { Registry } from "../runtime/metrics.ts";
import type { Newest, Pair } from "./pair.ts";

export interface CallSeries {
  /** The pairs that have labels. */
  pairs(): readonly Pair[];
  /** How many pairs are beyond the bound. */
  unlisted(): number;
}

type GaugeOf = readonly [name: string, help: string, read: (newest: Newest) => number | undefined];

/** Converts milliseconds to seconds, with microsecond precision. */
const seconds = (ms: number | null): number | undefined =>
  ms === null ? undefined : Math.round(ms * 1000) / 1e6;

const GAUGES: readonly GaugeOf[] = [
  [
    "probe_success",
    "1 if the newest result of the call passed, otherwise 0.",
    ({ passed }) => Number(passed),
  ],
  [
    "probe_last_run_timestamp_seconds",
    "When the call of the newest result was made.",
    ({ time }) => unixTime(time),
  ],
  [
    "probe_duration_seconds",
    "Total time of the newest result, redirects included.",
    ({ timing }) => seconds(timing.total),
  ],
  [
    "probe_http_status_code",
    "Status code of the newest result; 0 without a response.",
    ({ http_code }) => http_code ?? 0,
  ],
  [
    "probe_dns_lookup_time_seconds",
    "Time of the name lookup in the newest result.",
    ({ timing }) => seconds(timing.dns),
  ],
  [
    "probe_ssl_earliest_cert_expiry",
    "When the certificate in the newest result expires, in Unix time.",
    ({ certificate }) => unixTime(certificate?.expiry),
  ],
];

const PHASES: Readonly<Record<string, Exclude<keyof Timing, "total" | "uncertainty">>> = {
  resolve: "dns",
  connect: "tcp",
  tls: "handshake",
  upload: "upload",
  processing: "processing",
  transfer: "download",
};

export function registerCallMetrics(registry: Registry, series: CallSeries): void {
  const registers = [registry];
  const register = (
    name: string,
    help: string,
    samplesOf: (pair: Pair, labels: string) => Sample[],
    type: "counter" | "gauge" | "histogram" = "gauge",
  ): void =>
    registerSampled({
      name,
      help,
      type,
      registers,
      samples: () => series.pairs().flatMap((pair) => samplesOf(pair, pair.labelText ?? "")),
    });
  for (const [name, help, read] of GAUGES)
    register(name, help, (pair, labelText) => {
      const value = pair.newest && pair.isCurrent ? read(pair.newest) : undefined;
      return value === undefined ? [] : [{ labelText, value }];
    });
  register("probe_http_duration_seconds", "Phases of the newest result.", phasesOf);
  register(
    "probe_runs_total",
    "Recorded results of the call, by the outcome of the run.",
    ({ runs }, labels) =>
      [...runs].map(([result, value]) => ({ labelText: `${labels},result="${result}"`, value })),
    "counter",
  );
  register(
    "probe_latency_seconds",
    "Total times of the results for which the call was made.",
    ({ latencies }, labels) => durationSamples("probe_latency_seconds", latencies, labels),
    "histogram",
  );
  registerReading(
    {
      name: "sonde_aggregator_unlisted_calls",
      help: "Calls at a location, with results in the last hour, that have no series because of SONDE_CALL_METRICS_MAX; counted up to 10,000.",
      registers,
    },
    () => series.unlisted(),
  );
}

function phasesOf({ newest, isCurrent }: Pair, labels: string): Sample[] {
  if (!newest || !isCurrent) return [];
  return Object.entries(PHASES).flatMap(([phase, of]) => {
    const value = seconds(newest.timing[of]);
    return value === undefined ? [] : [{ labelText: `${labels},phase="${phase}"`, value }];
  });
}

function unixTime(instant: string | undefined): number | undefined {
  const time = parseInstant(instant ?? "");
  return time === undefined ? undefined : time / 1000;
}
