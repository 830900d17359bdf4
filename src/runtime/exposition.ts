// Writes metrics as text, in the two formats that Prometheus reads.
export type Format = "prometheus" | "openmetrics";

export const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  prometheus: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

export type Labels = Readonly<Record<string, string | number | undefined>>;

export interface Sample {
  readonly labels?: Labels;
  /** Replaces `labels`, as `labelTextOf` writes them. */
  readonly labelText?: string;
  readonly value: number;
  /** Where it differs from the metric's: `…_bucket`, `…_sum`, `…_count`. */
  readonly metricName?: string;
}

export interface SnapshotMetric {
  readonly name: string;
  readonly help: string;
  readonly type: unknown;
  /** How the values of threads are combined. */
  readonly aggregator: string;
  readonly values: readonly (Sample & { readonly labels: Labels })[];
}

/** The values of a registry at one moment; passed between threads. */
export type MetricsSnapshot = readonly SnapshotMetric[];

/**
 * Returns OpenMetrics if the Accept header ranks it at least as high as text/plain, otherwise
 * Prometheus's own format.
 */
export function formatOf(accept = ""): Format {
  const weights = accept.split(",").map(weightOf);
  const best = (types: readonly string[]): number =>
    Math.max(0, ...weights.filter(({ type }) => types.includes(type)).map(({ weight }) => weight));
  const open = best(["application/openmetrics-text"]);
  return open > 0 && open >= best(["text/plain"]) ? "openmetrics" : "prometheus";
}

function weightOf(range: string): { readonly type: string; readonly weight: number } {
  const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
  return { type, weight: weight === undefined ? 1 : Number(weight) || 0 };
}

/** The names of counters end in `_total`, which OpenMetrics leaves out of a family's name. */
export function writeMetrics(metrics: MetricsSnapshot, format: Format): string {
  const families = metrics.map(({ name, help, type, values }) => {
    const kind = String(type);
    const family = format === "openmetrics" && kind === "counter" ? name.slice(0, -6) : name;
    const text = format === "openmetrics" ? escapeValue(help) : escapeLine(help);
    let lines = `# HELP ${family} ${text}\n# TYPE ${family} ${kind}\n`;
    for (const { metricName = name, labels, labelText = labelTextOf(labels), value } of values)
      lines += `${metricName}${labelText && `{${labelText}}`} ${numberText(value)}\n`;
    return lines;
  });
  return format === "openmetrics" ? `${families.join("")}# EOF\n` : families.join("\n");
}

/** Writes labels as they appear between the braces. */
export const labelTextOf = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeValue(String(value))}"`)
    .join(",");

const escapeLine = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");

const escapeValue = (text: string): string => escapeLine(text).replaceAll('"', '\\"');

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}
