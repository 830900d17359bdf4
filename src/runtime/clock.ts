// The only reader of the system's clocks.
import { setTimeout as delay } from "node:timers/promises";

export interface Clock {
  /** Epoch milliseconds; may jump when the system's clock is set. */
  now(): number;
  /** Milliseconds from an arbitrary start, with a fraction; never goes back. */
  monotonic(): number;
  /** Resolves at or after the instant (epoch milliseconds), never early; rejects with the signal's reason. */
  waitUntil(instant: number, signal?: AbortSignal): Promise<void>;
}

// setTimeout holds at most 2^31 - 1 ms.
const LONGEST_TIMER_MS = 86_400_000;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async waitUntil(instant, signal) {
    for (;;) {
      const left = instant - Date.now();
      if (left <= 0) return signal?.throwIfAborted();
      await delay(
        Math.min(Math.ceil(left), LONGEST_TIMER_MS),
        undefined,
        signal ? { signal } : {},
      );
    }
  },
};
