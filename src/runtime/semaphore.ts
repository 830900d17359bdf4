// A semaphore: limits concurrent holders. Waiters enter in order of arrival.

export function createSemaphore(count: number) {
  let free = count;
  const waiting = new Set<() => void>();

  /** Resolves once a place is free and taken; rejects with the signal's reason. */
  async function acquire(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (free > 0) {
      free -= 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        waiting.delete(enter);
        reject(signal.reason as Error);
      };
      waiting.add(enter);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  /** Frees a place for the next waiter. Releasing too often adds no places. */
  function release(): void {
    const [next] = waiting;
    if (!next) {
      free = Math.min(free + 1, count);
      return;
    }
    waiting.delete(next);
    next();
  }

  return {
    acquire,
    release,
    /** Holds a place during the work; rejects as `acquire` and the work do. */
    async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
      await acquire(signal);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
