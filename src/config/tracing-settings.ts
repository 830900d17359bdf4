// The settings of tracing: the collector, and the share of traced runs.
import { optional, setting } from "./setting.ts";
import { collectorUrl, headerList, ratio } from "./setting-values.ts";

export const TRACING_SETTINGS = {
  otlpUrl: optional({
    env: "SONDE_OTLP_URL",
    defaultMeaning: "none: no tracing",
    meaning:
      "OTLP/HTTP trace collector, such as `http://127.0.0.1:4318`; see [Tracing](tracing.md)",
    allowed: "an http or https URL without user, query and fragment",
    parse: collectorUrl,
  }),
  otlpHeaders: optional({
    env: "SONDE_OTLP_HEADERS",
    secret: true,
    defaultMeaning: "none",
    meaning:
      "Request headers for the collector: comma-separated `name=value`, percent-encoded where needed",
    allowed: "a comma-separated list of name=value, such as authorization=Bearer%20…",
    parse: headerList,
  }),
  otlpSample: setting({
    env: "SONDE_OTLP_SAMPLE",
    default: "1",
    meaning: "Fraction of runs to trace, from 0 to 1; all processes trace the same runs",
    allowed: "a number from 0 to 1",
    parse: ratio,
  }),
};
