// The agent's clock: the machine's while it agrees with the hub's, otherwise the hub's time, as
// measured by heartbeats.
import { ANSWER_MS } from "../bus/bus.ts";
import type { Clock } from "../runtime/clock.ts";

/** An answer from the hub. `sent` and `received` are instants of the machine's monotonic clock. */
interface HubAnswer {
  readonly sent: number;
  readonly received: number;
  /** Epoch milliseconds. */
  readonly hubTime: number;
}

/**
 * The hub's time minus the machine's monotonic clock is `ahead`, plus or minus `error`, both in
 * milliseconds.
 */
export interface Measurement {
  /** Monotonic. */
  readonly at: number;
  readonly ahead: number;
  readonly error: number;
}

export type HubClock = ReturnType<typeof createHubClock>;

/** Waits may end this late after a smaller change: waking thousands of them would take longer. */
const NOTABLE_MS = 25;

/** More than slewing shifts a clock in a second, and more than the gap between two readings. */
const SET_MS = 100;

/**
 * Shows the machine's time until the hub has answered. A single contradicting answer changes
 * nothing, or one wrong answer would make runs MISSED (`withMeasurement`). The machine's clock may
 * be set at any moment: until the hub's next answer, and while the machine's clock is wrong, the
 * hub's time advances by the monotonic clock, which cannot be set.
 */
export function createHubClock(clock: Clock) {
  const skewNow = (): number => clock.now() - clock.monotonic();
  let measured: Measured = { believed: [], doubted: [] };
  /** The hub's time minus the monotonic clock, while the machine's clock is wrong. */
  let ahead: number | undefined;
  let skew = skewNow();
  let changed = new AbortController();

  const wasJustSet = (): boolean => Math.abs(skewNow() - skew) > SET_MS;
  const measuredAhead = () => bestOf(measured.believed, clock.monotonic())?.ahead;
  const hubAhead = () => ahead ?? (wasJustSet() ? measuredAhead() : undefined);
  const now = (): number => {
    const known = hubAhead();
    return known === undefined ? clock.now() : Math.floor(clock.monotonic() + known);
  };
  /** Milliseconds by which the hub is ahead; 0 while both agree within the measurement error. */
  const offset = (): number => (hubAhead() === undefined ? 0 : now() - clock.now());

  function wakeWaits(): void {
    changed.abort();
    changed = new AbortController();
  }

  return {
    ...clock, // keeps `monotonic` and `pause`
    now,
    offset,
    /** Returns whether the answer needs confirmation: ask again soon. */
    learn(answer: HubAnswer): boolean {
      const monotonic = clock.monotonic();
      measured = withMeasurement(measured, measure(answer), clock.now() - monotonic);
      const best = bestOf(measured.believed, monotonic);
      const wrong = best && !isRight(best, { now: clock.now(), monotonic });
      const before = offset();
      ahead = wrong ? best.ahead : undefined;
      if (Math.abs(offset() - before) > NOTABLE_MS) wakeWaits();
      return measured.doubted.length > 0;
    },
    /** Whether the clock was set, or the machine slept, since the last call: ask the hub again. */
    wasSet(): boolean {
      const isSet = wasJustSet();
      if (isSet) ahead ??= measuredAhead();
      skew = skewNow();
      if (!isSet) return false;
      wakeWaits();
      return true;
    },
    async waitUntil(instant: number, signal?: AbortSignal): Promise<void> {
      for (;;) {
        signal?.throwIfAborted();
        if (now() >= instant) return;
        const end = AbortSignal.any([changed.signal, ...(signal ? [signal] : [])]);
        // The next iteration checks why the wait ended.
        await clock.waitUntil(instant - offset(), end).catch(() => undefined);
      }
    },
  };
}

/** Both clocks are read in whole milliseconds. */
const RESOLUTION_MS = 1;
/** Drift between two clocks, in ms per ms: PHI of RFC 5905 section 7.2. */
const DRIFT = 15e-6;
const MAX_MEASUREMENTS = 8;

/** RFC 5905 section 8, with one reading of the hub's clock between two of the machine's. */
function measure({ sent, received, hubTime }: HubAnswer): Measurement {
  const at = (sent + received) / 2;
  const error = (received - sent) / 2 + RESOLUTION_MS;
  return { at, ahead: hubTime - at, error };
}

/** Newest last. */
export interface Measured {
  readonly believed: readonly Measurement[];
  /** These contradict the believed ones, and agree with each other. */
  readonly doubted: readonly Measurement[];
}

/** A longer round trip proves nothing: the machine may have been suspended. */
const LONGEST_TRIP_MS = ANSWER_MS;

/** Consecutive answers that must agree before they replace what is known. */
const CONFIRMED_BY = 3;

/**
 * Adds a measurement. A contradicting one may be wrong, or a clock was set, or the machine slept:
 * it is doubted until others confirm it. Before the first answer, the machine's clock counts as
 * known; it is `machineAhead` of the monotonic clock.
 */
export function withMeasurement(
  { believed, doubted }: Measured,
  latest: Measurement,
  machineAhead: number,
): Measured {
  if (2 * (latest.error - RESOLUTION_MS) > LONGEST_TRIP_MS) return { believed, doubted };
  const machine: Measurement = { at: latest.at, ahead: machineAhead, error: TOLERATED_MS };
  if (agree(bestOf(believed, latest.at) ?? machine, latest))
    return { believed: [...believed, latest].slice(-MAX_MEASUREMENTS), doubted: [] };
  const other = bestOf(doubted, latest.at);
  const confirming = other && agree(other, latest) ? [...doubted, latest] : [latest];
  return confirming.length < CONFIRMED_BY
    ? { believed, doubted: confirming }
    : { believed: confirming, doubted: [] };
}

const agree = (one: Measurement, other: Measurement): boolean =>
  Math.abs(one.ahead - other.ahead) <= one.error + other.error;

/** The one with the least error, which grows with age: the clock filter of RFC 5905 section 10. */
export function bestOf(kept: readonly Measurement[], monotonic: number): Measurement | undefined {
  const [best] = kept
    .map((each) => ({
      ...each,
      error: each.error + Math.max(0, monotonic - each.at) * DRIFT,
    }))
    .toSorted((a, b) => a.error - b.error);
  return best;
}

/** A clock synchronized by NTP may be off by this much; correcting it would not help. */
const TOLERATED_MS = 10;

/** Whether a clock that shows `now` is right, within the measurement error and the tolerance. */
const isRight = (
  { ahead, error }: Measurement,
  { now, monotonic }: { readonly now: number; readonly monotonic: number },
): boolean => Math.abs(monotonic + ahead - now) <= Math.max(error, TOLERATED_MS);
