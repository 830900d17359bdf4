// Counts by name, from 0 in each period of a fixed length.
import type { Clock } from "../runtime/clock.ts";

/** Returns a function that adds to a count. `secondsLeft`: of the current period. */
export function createCounts(clock: Clock, periodMs: number) {
  const counts = new Map<string, number>();
  let began = clock.monotonic();
  return (name: string, more = 1): { readonly count: number; readonly secondsLeft: number } => {
    const now = clock.monotonic();
    if (now - began >= periodMs) {
      counts.clear();
      began = now;
    }
    const count = (counts.get(name) ?? 0) + more;
    counts.set(name, count);
    return { count, secondsLeft: Math.ceil((began + periodMs - now) / 1000) };
  };
}
