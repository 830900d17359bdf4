// A semaphore: limits concurrent holders. Waiters enter in order of arrival.

export function createSemaphore(count: number) {
  let free = count;
  const waiting = new Set<() => void>();

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

  function release(): void {
    const [next] = waiting;
    if (!next) free += 1;
    else {
      waiting.delete(next);
      next();
    }
  }

  return {
    /** Holds a place during the work. Rejects with the signal's reason if it aborts before then. */
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
