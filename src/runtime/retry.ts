// Retries work that fails temporarily.
import { systemClock } from "./clock.ts";
import type { Clock } from "./clock.ts";

export interface RetryOptions {
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Milliseconds to wait after the nth failure in a row; default `retryDelayMs`. */
  readonly delayMs?: (failures: number) => number;
  /** Milliseconds after the first attempt in which retries may begin; default: no limit. */
  readonly withinMs?: number;
  /** Stops retrying, and ends a pause at once. */
  readonly signal?: AbortSignal;
  /** Default: every failure. */
  readonly isRetryable?: (cause: unknown) => boolean;
  /** Called for each failure that is retried, before the pause. */
  readonly onRetry?: (cause: unknown, failures: number) => void;
}

/** 100 ms after the first failure, doubling with each, at most 5 s. */
export const retryDelayMs = (failures: number): number =>
  Math.min(100 * 2 ** Math.min(failures - 1, 10), 5000);

/**
 * Resolves with the first success. Rejects with the signal's reason, or with a failure that is not
 * retryable or leaves no time for another attempt. `work` gets the milliseconds left.
 */
export async function retry<T>(
  work: (leftMs: number) => Promise<T>,
  options: RetryOptions,
): Promise<T> {
  const { clock = systemClock, delayMs = retryDelayMs, withinMs = Infinity, signal } = options;
  const end = clock.monotonic() + withinMs;
  for (let failures = 1; ; failures += 1) {
    signal?.throwIfAborted();
    try {
      return await work(end - clock.monotonic());
    } catch (cause) {
      signal?.throwIfAborted();
      if (options.isRetryable?.(cause) === false) throw cause;
      const pauseMs = delayMs(failures);
      if (clock.monotonic() + pauseMs >= end) throw cause;
      options.onRetry?.(cause, failures);
      await clock.pause(pauseMs, signal);
    }
  }
}
