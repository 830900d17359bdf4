// Medians, quantiles and spreads.

export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

/** Nearest rank (Hyndman and Fan, type 1); NaN without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}

export const spreadOf = (rounds: readonly number[]): Spread => ({
  min: quantile(rounds, 0),
  median: quantile(rounds, 0.5),
  max: quantile(rounds, 1),
});
