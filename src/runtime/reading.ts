// Keeps the latest measurement of a value while it is recent.
import type { Clock } from "./clock.ts";

/** How often background work measures. */
export const MEASURE_EVERY_MS = 15_000;

const KEPT_MS = 60_000;

export interface Reading<T> {
  readonly set: (value: T) => void;
  /** Undefined before the first measurement, and more than a minute after the latest. */
  readonly get: () => T | undefined;
}

export function createReading<T>({ monotonic }: Pick<Clock, "monotonic">): Reading<T> {
  let latest: { readonly value: T; readonly at: number } | undefined;
  return {
    set(value) {
      latest = { value, at: monotonic() };
    },
    get: () => (latest && monotonic() - latest.at <= KEPT_MS ? latest.value : undefined),
  };
}
