// The agent's clock: the machine's for as long as it agrees with the hub's, else the hub's time.
import type { Clock } from "../runtime/clock.ts";
import { bestOf, isRight, measure, withMeasurement } from "./clock-offset.ts";
import type { HubAnswer, Measurement } from "./clock-offset.ts";

export interface HubClock extends Clock {
  learn(answer: HubAnswer): void;
  /**
   * Milliseconds that the hub's time is ahead of the machine's clock; 0 while the two agree as far
   * as can be measured.
   */
  offset(): number;
  /**
   * Whether the machine's clock was set, or stood still in its sleep, since this was last asked.
   * What was learned is then to be learned anew; waits under way go by the new reading at once.
   */
  wasSet(): boolean;
}

/** A wait may end this much too late: to wake thousands of them takes longer. */
const NOTABLE_MS = 25;

/** More than slewing does in a second, or a pause between two readings. */
const SET_MS = 100;

/**
 * Without an answer of the hub, it is the machine's clock. A machine's clock that was found wrong
 * may be set at any moment: the hub's time is then carried on from answer to answer by the
 * monotonic clock, which nobody sets.
 */
export function createHubClock(clock: Clock): HubClock {
  const skewNow = (): number => clock.now() - clock.monotonic();
  let measurements: readonly Measurement[] = [];
  /** The hub's time less the monotonic clock, while the machine's clock is wrong. */
  let ahead: number | undefined;
  let skew = skewNow();
  let changed = new AbortController();

  const now = (): number =>
    ahead === undefined ? clock.now() : Math.floor(clock.monotonic() + ahead);
  const offset = (): number => (ahead === undefined ? 0 : now() - clock.now());

  function wakeWaits(): void {
    changed.abort();
    changed = new AbortController();
  }

  return {
    now,
    monotonic: () => clock.monotonic(),
    pause: (ms, signal) => clock.pause(ms, signal),
    offset,
    learn(answer) {
      measurements = withMeasurement(measurements, measure(answer));
      const monotonic = clock.monotonic();
      const best = bestOf(measurements, monotonic);
      const wrong = best && !isRight(best, { now: clock.now(), monotonic });
      const before = offset();
      ahead = wrong ? best.ahead : undefined;
      if (Math.abs(offset() - before) > NOTABLE_MS) wakeWaits();
    },
    wasSet() {
      const before = skew;
      skew = skewNow();
      if (Math.abs(skew - before) <= SET_MS) return false;
      wakeWaits();
      return true;
    },
    async waitUntil(instant, signal) {
      for (;;) {
        signal?.throwIfAborted();
        if (now() >= instant) return;
        const ends = [changed.signal, ...(signal ? [signal] : [])];
        // The next turn sees why the wait ended.
        await clock.waitUntil(instant - offset(), AbortSignal.any(ends)).catch(() => undefined);
      }
    },
  };
}
