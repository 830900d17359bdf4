// Percentiles of a sample.

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** By nearest rank: each is a value of the sample. Null for an empty one. */
export function percentilesOf(values: readonly number[]): Percentiles | null {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (percent: number): number | undefined =>
    sorted[Math.ceil((percent / 100) * sorted.length) - 1];
  const [p50, p95, p99] = [at(50), at(95), at(99)];
  return p50 === undefined || p95 === undefined || p99 === undefined ? null : { p50, p95, p99 };
}
