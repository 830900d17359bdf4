// How long to gather items into a batch.
import { systemClock } from "./clock.ts";

const PER_ITEM_MS = 20;
const RECENT_MS = 1000;

/**
 * A batch gathers for 20 ms per item of the previous one, up to `longestMs`: a lone item passes
 * soon; above 50 items a second, batches grow and cost less. A previous batch older than a second
 * does not count.
 */
export function createGathering(longestMs: number) {
  let last = { items: 0, at: -Infinity };
  return {
    /** How long the next batch gathers. */
    ms(): number {
      const isRecent = systemClock.monotonic() - last.at < RECENT_MS;
      return isRecent ? Math.min(PER_ITEM_MS * Math.max(1, last.items), longestMs) : PER_ITEM_MS;
    },
    /** Call it with the size of each batch. */
    gathered(items: number): void {
      last = { items, at: systemClock.monotonic() };
    },
  };
}
