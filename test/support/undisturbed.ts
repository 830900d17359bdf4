// Measures the program on a machine with other load.

const RETRY_FOR_MS = 5000;
/** A stall may take longer than the time for retries. */
const LEAST_TRIES = 4;
const SAMPLE_EVERY_MS = 5;
const HITCH_MS = 25;

export interface Disturbance {
  /** How long `measure` itself keeps the event loop busy. */
  readonly plannedMs?: number;
  /** How much longer or shorter than planned it may be busy. */
  readonly toleratedMs?: number;
}

/**
 * Returns the result of `measure`. If the event loop stalled meanwhile, or `measure` ended before
 * its planned work, measures again: for five seconds and at least four times. Returns the least
 * disturbed measurement.
 */
export async function undisturbed<T>(
  measure: () => Promise<T>,
  { plannedMs = 0, toleratedMs = HITCH_MS }: Disturbance = {},
): Promise<T> {
  const deadline = performance.now() + RETRY_FOR_MS;
  let best: { readonly measured: T; readonly by: number } | undefined;
  for (let tries = 1; ; tries += 1) {
    const watch = watchStalls();
    const measured = await measure().finally(watch.end);
    const by = Math.abs(watch.stalled() - plannedMs);
    if (best === undefined || by < best.by) best = { measured, by };
    const mayRetry = tries < LEAST_TRIES || performance.now() < deadline;
    if (best.by <= toleratedMs || !mayRetry) return best.measured;
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
