// The clock: wall time, monotonic time, and waits by either.
import { setTimeout as delay } from "node:timers/promises";
import { busyAtLastLook, busyNow } from "./thread-usage.ts";

export interface Clock {
  /** Epoch milliseconds; may jump when the system's clock is set. */
  now(): number;
  /** Milliseconds from an arbitrary start, with a fraction; never goes back. */
  monotonic(): number;
  /**
   * Milliseconds of `monotonic` that this thread was not idle, plus those that the system kept it
   * waiting for a processor, from an arbitrary start.
   */
  busy(): number;
  /**
   * A value of `busy` from before this thread last looked for events without finding the one that
   * it handles now: earlier work did not delay that event. -Infinity until known.
   */
  busyAtLastLook(): number;
  /**
   * Resolves at or after the instant (epoch milliseconds), never early; rejects with the signal's
   * reason.
   */
  waitUntil(instant: number, signal?: AbortSignal): Promise<void>;
  /**
   * Resolves after `ms` milliseconds of `monotonic`, never early; rejects with the signal's reason.
   */
  pause(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  busy: busyNow,
  busyAtLastLook,
  waitUntil: (instant, signal) => waitWhileLeft(() => instant - Date.now(), signal),
  pause(ms, signal) {
    const end = performance.now() + ms;
    return waitWhileLeft(() => end - performance.now(), signal);
  },
};

// setTimeout holds at most 2^31 - 1 ms.
const LONGEST_TIMER_MS = 86_400_000;

async function waitWhileLeft(leftMs: () => number, signal?: AbortSignal): Promise<void> {
  for (;;) {
    signal?.throwIfAborted();
    const left = leftMs();
    if (left <= 0) return;
    const ms = Math.min(Math.ceil(left), LONGEST_TIMER_MS);
    await delay(ms, undefined, signal ? { signal } : {}).catch(
      () => undefined, // if aborted, the loop rejects next
    );
  }
}
