// What was measured lately.
import type { Clock } from "./clock.ts";

/** Work that measures in the background does so this often. */
export const MEASURE_EVERY_MS = 15_000;

const KEPT_MS = 60_000;

export interface Reading<T> {
  readonly set: (value: T) => void;
  /** Undefined before it is measured, and where that was more than a minute ago. */
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
