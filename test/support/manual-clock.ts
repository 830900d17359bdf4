// A clock moved only by the test.
import type { Clock } from "../../src/runtime/clock.ts";

export interface ManualClock extends Clock {
  /** Advances both clocks and wakes due waits in order. Does not wait for real I/O. */
  advance(ms: number): Promise<void>;
  /** Advances `busy` only. */
  work(ms: number): void;
  /** Sets the wall clock only, as an operator or NTP does, and wakes due waits. */
  setNow(ms: number): Promise<void>;
  /** The awaited instants, earliest first; for a pause, assuming that the wall clock is not set. */
  waiting(): readonly number[];
}

interface Waiter {
  readonly instant: () => number;
  readonly isPause: boolean;
  readonly resolve: () => void;
}

export function createManualClock(startMs: number): ManualClock {
  let [now, monotonic, busy] = [startMs, 0, 0];
  const waiters = new Set<Waiter>();
  const byInstant = (): Waiter[] => [...waiters].sort((a, b) => a.instant() - b.instant());

  const moveTo = async (target: number, elapsed: boolean): Promise<void> => {
    for (;;) {
      const next = byInstant().find(
        ({ instant, isPause }) => instant() <= target && (elapsed || !isPause),
      );
      const at = next ? Math.max(next.instant(), now) : target;
      if (elapsed) monotonic += at - now;
      now = at;
      if (!next) return;
      waiters.delete(next);
      next.resolve();
      await settle(); // a woken waiter may wait again, for an instant that is due too
    }
  };

  const wait = (
    awaited: Pick<Waiter, "instant" | "isPause">,
    signal: AbortSignal | undefined,
  ): Promise<void> => {
    if (signal?.aborted) return Promise.reject(reasonOf(signal));
    if (awaited.instant() <= now) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        waiters.delete(waiter);
        reject(reasonOf(signal));
      };
      const waiter: Waiter = {
        ...awaited,
        resolve: () => {
          signal?.removeEventListener("abort", abort);
          resolve();
        },
      };
      waiters.add(waiter);
      signal?.addEventListener("abort", abort, { once: true });
    });
  };

  return {
    now: () => now,
    monotonic: () => monotonic,
    busy: () => busy,
    busyAtLastLook: () => -Infinity,
    waitUntil: (instant, signal) => wait({ instant: () => instant, isPause: false }, signal),
    pause(ms, signal) {
      const end = monotonic + ms;
      const instant = (): number => now + end - monotonic;
      return wait({ instant, isPause: true }, signal);
    },
    async advance(ms) {
      await settle();
      await moveTo(now + ms, true);
      await settle();
    },
    work(ms) {
      busy += ms;
    },
    async setNow(ms) {
      await settle();
      if (ms < now) now = ms;
      else await moveTo(ms, false);
      await settle();
    },
    waiting: () => byInstant().map(({ instant }) => instant()),
  };
}

const reasonOf = (signal: AbortSignal | undefined): Error =>
  signal?.reason instanceof Error ? signal.reason : new Error("aborted", { cause: signal?.reason });

/** Lets every promise settle that needs no I/O. */
const settle = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });
