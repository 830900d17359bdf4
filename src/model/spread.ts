// Spreads deployments over the seconds of a minute: they must not all be due at its start.
import type { Cadence } from "./slots.ts";

const MINUTE_S = 60;

export interface Proposal {
  /** Seconds. */
  readonly run_delay: number;
  /** Deployments that share this second at some of their runs. */
  readonly sharing: number;
}

/**
 * Returns the delay below a minute at which a deployment of `frequency` meets the fewest of
 * `others`; if there are several, the one farthest from them (up to half a minute), and of those
 * the first. Two schedules meet if their delays are equal modulo the greatest common divisor of
 * their periods: then, and only then, is there an instant at which both are due.
 */
export function proposeDelay(frequency: number, others: readonly Cadence[]): Proposal {
  const circles = others.map((other) => ({
    size: greatestCommonDivisor(frequency, other.frequency) * MINUTE_S,
    at: other.run_delay,
  }));
  const candidates = Array.from({ length: MINUTE_S }, (_, run_delay) => {
    const distances = circles.map(({ size, at }) => distanceOn(size, run_delay, at));
    return {
      run_delay,
      sharing: distances.filter((distance) => distance === 0).length,
      distance: Math.min(MINUTE_S / 2, ...distances),
    };
  });
  const best = candidates.reduce((a, b) =>
    b.sharing < a.sharing || (b.sharing === a.sharing && b.distance > a.distance) ? b : a,
  );
  return { run_delay: best.run_delay, sharing: best.sharing };
}

/** Returns the distance between two places on a circle of `size`. */
function distanceOn(size: number, a: number, b: number): number {
  const apart = Math.abs(a - b) % size;
  return Math.min(apart, size - apart);
}

const greatestCommonDivisor = (a: number, b: number): number =>
  b === 0 ? a : greatestCommonDivisor(b, a % b);
