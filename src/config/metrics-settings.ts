// The settings of metrics.
import { setting, wholeNumber } from "./setting.ts";
import { oneOf } from "./setting-values.ts";

export const METRICS_SETTINGS = {
  callMetrics: setting({
    env: "SONDE_CALL_METRICS",
    default: "on",
    meaning: "`off`: no metrics of measured calls (`probe_…`); see [metrics.md](metrics.md#calls)",
    allowed: "on or off",
    parse: oneOf(["on", "off"]),
  }),
  callMetricsMax: wholeNumber({
    env: "SONDE_CALL_METRICS_MAX",
    default: "1000",
    meaning:
      "Maximum call/location pairs with metrics, oldest calls first; each pair has about 30 series",
    range: [1, 100_000],
  }),
};
