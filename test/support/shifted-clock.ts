// The system clock, shifted by offsets that the test sets.
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../../src/runtime/clock.ts";
import type { Clock } from "../../src/runtime/clock.ts";

export interface ShiftedClock extends Clock {
  /**
   * Sets the wall clock, forwards or back, and wakes due waits. Leaves the monotonic clock alone.
   */
  moveTo(instant: number): void;
  /** Lets time pass until `instant` on both clocks, and wakes due waits. */
  passTo(instant: number): void;
}

export function createShiftedClock(start: number): ShiftedClock {
  let offset = start - systemClock.now();
  let passed = 0;
  let moved = new AbortController();
  const now = (): number => systemClock.now() + offset;
  const moveTo = (instant: number): void => {
    offset = instant - systemClock.now();
    moved.abort();
    moved = new AbortController();
  };
  return {
    now,
    monotonic: () => systemClock.monotonic() + passed,
    busy: () => systemClock.busy(),
    busyAtLastLook: () => systemClock.busyAtLastLook(),
    pause: (ms, signal) => systemClock.pause(ms, signal),
    moveTo,
    passTo(instant) {
      passed += instant - now();
      moveTo(instant);
    },
    async waitUntil(instant, signal) {
      for (;;) {
        signal?.throwIfAborted();
        const left = Math.ceil(instant - now());
        if (left <= 0) return;
        const ended = AbortSignal.any([moved.signal, ...(signal ? [signal] : [])]);
        await delay(Math.min(left, 60_000), undefined, { signal: ended }).catch(
          () => undefined, // the loop checks why
        );
      }
    },
  };
}
