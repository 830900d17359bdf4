// The wish that the process ends, as terminals and process managers send it.
import type { Clock } from "../runtime/clock.ts";

/**
 * Ctrl-C reaches the process twice where `npm start` passes its own on: so soon, the second is the
 * same.
 */
const SAME_WISH_MS = 500;
/** As shells say that SIGINT ended a process. */
const INTERRUPTED = 130;

/**
 * Resolves at the first SIGINT or SIGTERM. A SIGINT later on ends the process at once, whatever it
 * is at.
 */
export function listenForStop(clock: Clock): Promise<NodeJS.Signals> {
  let first: number | undefined;
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const)
      process.on(signal, () => {
        first ??= clock.monotonic();
        const isAgain = clock.monotonic() - first > SAME_WISH_MS;
        if (isAgain && signal === "SIGINT") process.exit(INTERRUPTED);
        resolve(signal);
      });
  });
}
