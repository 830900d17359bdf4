// What time it is.
import { useEffect, useState } from "preact/hooks";

/** Milliseconds since the epoch, by this machine's clock. */
export const now = (): number => Date.now();

/** The same, again and again. */
export function useNow(everyMs: number): number {
  const [time, setTime] = useState(now);
  useEffect(() => {
    const timer = setInterval(() => setTime(now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return time;
}
