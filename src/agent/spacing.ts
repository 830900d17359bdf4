// Spaces starts by how much of the thread's time a call takes. A distant target answers long after
// the start: by the time its answers keep the thread busy, too many calls would have started to
// time them all.
import type { Clock } from "../runtime/clock.ts";

/** The share of the thread's time that calls may take while none starts late. */
const SHARE = 0.6;

/** A run this late comes from a backlog: making up for it matters more than timing it well. */
export const BACKLOG_AFTER_MS = 10_000;

/** In milliseconds, until calls are measured: a new process has yet to compile their code. */
const FIRST_COST_MS = 2;

/** What a call takes is a moving average; this is the weight of the latest call. */
const WEIGHT = 1 / 100;

/** Caps what one call adds to the average, as a multiple of it: a stall is not the call's cost. */
const MOST_OF_AVERAGE = 10;

/** A timer may fire this much later than asked for; the starts after it make up for it. */
const LATE_TIMER_MS = 2;

export function createSpacing(clock: Clock) {
  let costMs = FIRST_COST_MS;
  let running = 0;
  /** `Clock.busy` that is already in `costMs`. */
  let counted = 0;
  /** Epoch milliseconds, like `next`. */
  let last = -Infinity;
  let next = -Infinity;
  /**
   * When the next call may start, in epoch milliseconds: at once if none runs, or if the clock was
   * set back.
   */
  const nextAt = (now: number): number => (running === 0 || now < last ? now : next);
  return {
    nextAt,
    /**
     * A call starts, `lateMs` milliseconds after it was ready. The later, the sooner the next may
     * follow; at `BACKLOG_AFTER_MS`, at once.
     */
    began(now: number, lateMs: number): void {
      const space = (costMs / SHARE) * Math.max(0, 1 - lateMs / BACKLOG_AFTER_MS);
      next = Math.max(nextAt(now), now - LATE_TIMER_MS) + space;
      last = now;
      if (running === 0) counted = clock.busy();
      running += 1;
    },
    /** A call that began has ended. */
    ended(): void {
      running -= 1;
      const busy = clock.busy();
      const latest = Math.min(busy - counted, costMs * MOST_OF_AVERAGE);
      costMs += (latest - costMs) * WEIGHT;
      counted = busy;
    },
  };
}
