// Keeps the latest measurement of a value while it is recent.
import type { Clock } from "./clock.ts";

/** How often background work measures. */
export const MEASURE_EVERY_MS = 15_000;

const KEPT_MS = 60_000;

export function createReading<T>({ monotonic }: Pick<Clock, "monotonic">) {
  let latest: { readonly value: T; readonly at: number } | undefined;
  return {
    set(value: T): void {
      latest = { value, at: monotonic() };
    },
    /** Undefined before the first measurement, and more than a minute after the latest. */
    get: (): T | undefined =>
      latest && monotonic() - latest.at <= KEPT_MS ? latest.value : undefined,
  };
}
