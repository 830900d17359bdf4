// How far the hub's time is from the machine's clock, by what the hub answered and how long the
// answer took.

/** An answer of the hub. What the machine reads, before asking and after, is monotonic. */
export interface HubAnswer {
  readonly sent: number;
  readonly received: number;
  /** Epoch milliseconds. */
  readonly hubTime: number;
}

/**
 * Milliseconds. The hub's time, less the machine's monotonic clock, is `ahead`, give or take
 * `error`.
 */
export interface Measurement {
  /** Monotonic. */
  readonly at: number;
  readonly ahead: number;
  readonly error: number;
}

/** Both clocks are read in whole milliseconds. */
const RESOLUTION_MS = 1;
/** How much two clocks may drift apart, in ms for each ms: PHI of RFC 5905 section 7.2. */
const DRIFT = 15e-6;
const KEPT = 8;

/**
 * RFC 5905 section 8, with one reading of the hub: it was made somewhere between the two of the
 * machine.
 */
export function measure({ sent, received, hubTime }: HubAnswer): Measurement {
  const at = (sent + received) / 2;
  const error = (received - sent) / 2 + RESOLUTION_MS;
  return { at, ahead: hubTime - at, error };
}

/**
 * The measurements to go by from now on, newest last. One that contradicts those before it means
 * that a clock was set, or that the machine slept: it stands alone.
 */
export function withMeasurement(
  kept: readonly Measurement[],
  latest: Measurement,
): readonly Measurement[] {
  const best = bestOf(kept, latest.at);
  const agrees = best && Math.abs(latest.ahead - best.ahead) <= latest.error + best.error;
  return agrees ? [...kept, latest].slice(-KEPT) : [latest];
}

/**
 * The one with the least error, which grows with its age: the clock filter of RFC 5905 section 10.
 */
export function bestOf(kept: readonly Measurement[], monotonic: number): Measurement | undefined {
  const [best] = kept
    .map((each) => ({
      ...each,
      error: each.error + Math.max(0, monotonic - each.at) * DRIFT,
    }))
    .toSorted((a, b) => a.error - b.error);
  return best;
}

/** What a clock that is kept by NTP may be off by: no reason to go by another. */
const TOLERATED_MS = 10;

/** Whether a clock that shows `now` is right, as far as can be measured and matters. */
export const isRight = (
  { ahead, error }: Measurement,
  { now, monotonic }: { readonly now: number; readonly monotonic: number },
): boolean => Math.abs(monotonic + ahead - now) <= Math.max(error, TOLERATED_MS);
