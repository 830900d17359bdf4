// How long to gather items into a batch.
import { systemClock } from "./clock.ts";

const PER_ITEM_MS = 20;
const RECENT_MS = 1000;

export type Gathering = ReturnType<typeof createGathering>;

/**
 * A batch gathers for 20 ms per item, up to `longestMs`, counting its own items or those of the
 * previous batch, whichever is more: a lone item is passed on soon; above 50 items a second,
 * batches grow and cost less. A previous batch older than a second does not count.
 */
export function createGathering(longestMs: number) {
  let last = { items: 0, at: -Infinity };
  return {
    /** How long a batch gathers that has this many items so far. */
    ms(items: number): number {
      const isRecent = systemClock.monotonic() - last.at < RECENT_MS;
      const most = Math.max(1, items, isRecent ? last.items : 0);
      return Math.min(PER_ITEM_MS * most, longestMs);
    },
    /** Call it with the size of each batch. */
    gathered(items: number): void {
      last = { items, at: systemClock.monotonic() };
    },
  };
}
