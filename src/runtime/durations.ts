// Counts durations as a Prometheus histogram reports them, without the look-up of labels that
// prom-client makes for each one.
import type { Sample } from "./exposition.ts";

export interface Durations {
  /** Upper bounds in seconds, ascending. */
  readonly bounds: readonly number[];
  /** One for each bound, not cumulative. */
  readonly counts: number[];
  /** Of all, also those beyond the last bound. */
  count: number;
  /** In seconds. */
  sum: number;
}

export const newDurations = (bounds: readonly number[]): Durations => ({
  bounds,
  counts: bounds.map(() => 0),
  count: 0,
  sum: 0,
});

export function countDuration(durations: Durations, seconds: number): void {
  const at = durations.bounds.findIndex((bound) => seconds <= bound);
  if (at >= 0) durations.counts[at] = (durations.counts[at] ?? 0) + 1;
  durations.count += 1;
  durations.sum += seconds;
}

/** Returns the samples of the histogram with this name; `labelText` is that of each. */
export function durationSamples(name: string, durations: Durations, labelText: string): Sample[] {
  const { bounds, counts, count, sum } = durations;
  const bucket = (le: string, value: number): Sample => ({
    metricName: `${name}_bucket`,
    labelText: `${labelText},le="${le}"`,
    value,
  });
  let below = 0;
  return [
    ...bounds.map((bound, at) => bucket(String(bound), (below += counts[at] ?? 0))),
    bucket("+Inf", count),
    { metricName: `${name}_sum`, labelText, value: sum },
    { metricName: `${name}_count`, labelText, value: count },
  ];
}
