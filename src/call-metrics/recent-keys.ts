// Keys that were seen lately.
import { systemClock } from "../runtime/clock.ts";

export const FORGET_AFTER_MS = 3_600_000;
const MOST_KEYS = 10_000;

export type RecentKeys = ReturnType<typeof createRecentKeys>;

/** Holds at most `MOST_KEYS` keys; a new one displaces the oldest. */
export function createRecentKeys() {
  const seen = new Map<string, number>();
  return {
    has: (key: string): boolean => seen.has(key),
    add(key: string): void {
      seen.delete(key);
      seen.set(key, systemClock.monotonic());
      const [oldest] = seen.keys();
      if (seen.size > MOST_KEYS && oldest !== undefined) seen.delete(oldest);
    },
    delete: (key: string): void => void seen.delete(key),
    keys: (): string[] => [...seen.keys()],
    size: (): number => seen.size,
    forgetOld(): void {
      for (const [key, at] of seen)
        if (systemClock.monotonic() - at > FORGET_AFTER_MS) seen.delete(key);
        else break;
    },
  };
}
