// The clock: wall time, monotonic time, and waits by either.
import { setTimeout as delay } from "node:timers/promises";

export interface Clock {
  /** Epoch milliseconds; may jump when the system's clock is set. */
  now(): number;
  /** Milliseconds from an arbitrary start, with a fraction; never goes back. */
  monotonic(): number;
  /** Milliseconds of `monotonic` that this thread was not idle, from an arbitrary start. */
  busy(): number;
  /**
   * A value of `busy` from before this thread last looked for events and did not find the one that
   * it handles now. Work before it delayed nothing in that event's handling. -Infinity until known.
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

const busyNow = (): number => performance.now() - performance.nodeTiming.idleTime;

let looks: ReturnType<typeof watchLooks> | undefined;

/**
 * Notes `busy` in each turn of the event loop after its events. Those come between the last note
 * and the next: all that the turn before could see arrived after the last but one. An immediate
 * that keeps nothing alive does not keep the loop from waiting either.
 */
function watchLooks() {
  let [lastButOne, last] = [-Infinity, -Infinity];
  const note = (): void => {
    [lastButOne, last] = [last, busyNow()];
    setImmediate(note).unref();
  };
  setImmediate(note).unref();
  return { lastButOne: () => lastButOne };
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  busy: busyNow,
  busyAtLastLook: () => (looks ??= watchLooks()).lastButOne(),
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
