// Measures the program on a machine with other load.

const RETRY_FOR_MS = 5000;
/** A stall may take longer than the time for retries. */
const LEAST_TRIES = 4;
const SAMPLE_EVERY_MS = 5;
const HITCH_MS = 25;

/**
 * Returns the result of `measure`. If the event loop stalled meanwhile, for longer than the
 * `plannedMs` that `measure` keeps it busy, measures again: for five seconds and at least four
 * times. Returns the least disturbed measurement.
 */
export async function undisturbed<T>(measure: () => Promise<T>, plannedMs = 0): Promise<T> {
  const deadline = performance.now() + RETRY_FOR_MS;
  let best: { readonly measured: T; readonly stalled: number } | undefined;
  for (let tries = 1; ; tries += 1) {
    const watch = watchStalls();
    const measured = await measure().finally(watch.end);
    const stalled = watch.stalled() - plannedMs;
    if (best === undefined || stalled < best.stalled) best = { measured, stalled };
    const mayRetry = tries < LEAST_TRIES || performance.now() < deadline;
    if (best.stalled <= HITCH_MS || !mayRetry) return best.measured;
  }
}

/** Measures for how long the event loop stalled, leaving out hitches. */
function watchStalls() {
  let [stalled, last] = [0, performance.now()];
  const sample = (): void => {
    const now = performance.now();
    const late = now - last - SAMPLE_EVERY_MS;
    if (late > HITCH_MS) stalled += late;
    last = now;
  };
  const timer = setInterval(sample, SAMPLE_EVERY_MS);
  return {
    stalled: () => stalled,
    end: () => {
      clearInterval(timer);
      sample();
    },
  };
}
