// Measures the time from a slot's opening to its last tick, and the time left before the slot.
import { systemClock } from "../runtime/clock.ts";
import type { Lease } from "../store/records.ts";
import type { ReconcileOptions } from "./reconcile.ts";

type TimesOptions = Pick<ReconcileOptions, "store" | "metrics">;

/** The database returns whole milliseconds. */
const RESOLUTION_MS = 1;

/** Returns the store's time, and measures this machine's clock offset from it. */
export async function readTime({ store, metrics }: TimesOptions): Promise<number> {
  const own = systemClock.now();
  const began = systemClock.monotonic();
  const now = await store.now();
  const half = (systemClock.monotonic() - began) / 2;
  const offset = now - (own + half);
  const isWithinError = Math.abs(offset) <= half + RESOLUTION_MS;
  metrics.clockOffset.set(isWithinError ? 0 : offset / 1000);
  return now;
}

export function createBeatTimes({ store, metrics }: TimesOptions) {
  /** The newest slot, until its ticks are published. */
  let open: { readonly slot: number; readonly began: number } | undefined;
  return {
    opened({ cursor }: Lease, began: number): void {
      open = cursor === null ? undefined : { slot: cursor, began };
    },
    async published(): Promise<void> {
      if (!open) return;
      const now = await store.now();
      metrics.beatLead.observe(Math.max(0, open.slot - now) / 1000);
      metrics.beatDuration.observe(Math.max(0, now - open.began) / 1000);
      open = undefined;
    },
  };
}
