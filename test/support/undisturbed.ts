// Measures the program on a machine with other load.

const RETRY_FOR_MS = 5000;
const SAMPLE_EVERY_MS = 5;
const MAX_STALL_MS = 25;

/**
 * Returns the result of `measure`. If the event loop stalled meanwhile, measures again for up to
 * five seconds and returns the least disturbed measurement.
 */
export async function undisturbed<T>(measure: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + RETRY_FOR_MS;
  let best: { readonly measured: T; readonly stall: number } | undefined;
  do {
    const watch = watchStalls();
    const measured = await measure().finally(watch.end);
    const stall = watch.longest();
    if (best === undefined || stall < best.stall) best = { measured, stall };
  } while (best.stall > MAX_STALL_MS && performance.now() < deadline);
  return best.measured;
}

/** Measures the longest stall of the event loop. */
function watchStalls() {
  let [longest, last] = [0, performance.now()];
  const sample = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last - SAMPLE_EVERY_MS);
    last = now;
  };
  const timer = setInterval(sample, SAMPLE_EVERY_MS);
  return {
    longest: () => longest,
    end: () => {
      clearInterval(timer);
      sample();
    },
  };
}
