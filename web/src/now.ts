// The current time.
import { useEffect, useState } from "preact/hooks";

/** Milliseconds since the epoch, by this machine's clock. */
export const now = (): number => Date.now();

/** Returns the current time, updated every `everyMs` milliseconds. */
export function useNow(everyMs: number): number {
  const [time, setTime] = useState(now);
  useEffect(() => {
    const timer = setInterval(() => setTime(now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return time;
}
