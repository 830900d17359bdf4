// Medians and spreads, since the machine is noisy.

export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly p99: number;
  readonly max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { min: at(0), median: at(0.5), p99: at(0.99), max: at(1) };
}

export const show = (value: number, digits = 3): string => value.toFixed(digits);
