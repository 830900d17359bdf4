// SIGINT and SIGTERM as one promise.
import type { Clock } from "../runtime/clock.ts";

/**
 * `npm start` forwards Ctrl-C, so the process gets it twice: a repeat this soon is the same signal.
 */
const SAME_SIGNAL_MS = 500;
/** The exit code with which shells report SIGINT. */
const INTERRUPTED = 130;

/** Resolves at the first SIGINT or SIGTERM. A later SIGINT ends the process immediately. */
export function listenForStop(clock: Clock): Promise<NodeJS.Signals> {
  let first: number | undefined;
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const)
      process.on(signal, () => {
        first ??= clock.monotonic();
        const isRepeated = clock.monotonic() - first > SAME_SIGNAL_MS;
        if (isRepeated && signal === "SIGINT") process.exit(INTERRUPTED);
        resolve(signal);
      });
  });
}
