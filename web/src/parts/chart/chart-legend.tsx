// The legend of a chart, with the values of the point under the pointer, or else of the newest.
import "../../styles/phases.css";
import { formatCount } from "../../number.ts";
import type { ChartSeries, ChartSpec } from "./chart-spec.ts";
import { State } from "../state.tsx";
import { formatTime } from "../time.tsx";

interface ChartLegendProps {
  readonly spec: ChartSpec;
  /** The index of the x under the pointer; null: none. */
  readonly hovered: number | null;
}

export function ChartLegend({ spec, hovered }: ChartLegendProps) {
  const at = hovered ?? (spec.isTime !== false && spec.x.length > 0 ? spec.x.length - 1 : null);
  return (
    <ul class="legend">
      {spec.series.map((series) => (
        <li key={series.label}>
          <Sample {...series} />
          {series.label}
          <span class="number value">{valueAt(series.values, at, spec.format)}</span>
        </li>
      ))}
      {spec.marks
        ?.filter(({ counts }) => counts.some((count) => count))
        .map(({ label, tone, counts }) => (
          <li key={label}>
            <State tone={tone} word={label} />
            <span class="number value">{valueAt(counts, at, formatCount)}</span>
          </li>
        ))}
      {at !== null && spec.x[at] !== undefined && <li class="at">{nameOfX(spec, spec.x[at])}</li>}
    </ul>
  );
}

const valueAt = (
  values: readonly (number | null)[],
  at: number | null,
  format: (value: number) => string,
): string | undefined => {
  if (at === null) return undefined;
  const value = values[at];
  return value == null ? "–" : format(value);
};

export const nameOfX = ({ isTime = true, formatX = String }: ChartSpec, x: number): string =>
  isTime ? formatTime(x) : formatX(x);

const Sample = ({ colour, dash, draw = "line", phase }: ChartSeries) =>
  phase ? (
    <span class={`swatch phase ${phase}`} aria-hidden="true" />
  ) : (
    <svg class="sample" viewBox="0 0 24 12" aria-hidden="true">
      {draw === "line" && (
        <path
          d="M0 6h24"
          stroke={`var(${colour})`}
          stroke-width="2.5"
          stroke-dasharray={dash?.join(" ")}
        />
      )}
      {draw === "bars" && <rect x="6" width="12" height="12" fill={`var(${colour})`} />}
      {draw === "points" && <circle cx="12" cy="6" r="4" fill={`var(${colour})`} />}
    </svg>
  );
