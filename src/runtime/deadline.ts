// A deadline as a signal that all waits of one piece of work share.

/** Aborts after `ms`, or with `cancel`. */
export function createDeadline(ms: number, cancel?: AbortSignal) {
  const controller = new AbortController();
  const expire = (): void => controller.abort();
  const timer = setTimeout(expire, ms);
  if (cancel?.aborted) expire();
  cancel?.addEventListener("abort", expire, { once: true });
  return {
    signal: controller.signal,
    /** Call it when the work has ended. */
    clear(): void {
      clearTimeout(timer);
      cancel?.removeEventListener("abort", expire);
    },
  };
}

/**
 * For work that cannot be cancelled: rejects with `failure()` when the signal aborts first, and
 * drops the work's outcome.
 */
export function untilAborted<Value>(
  work: Promise<Value>,
  signal: AbortSignal,
  failure: () => Error,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(failure());
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    work.finally(() => signal.removeEventListener("abort", abort)).then(resolve, reject);
  });
}
