// How many may be at work at a time, runs for example; the others wait in the order of their
// coming.

export interface RunSlots {
  /** Resolves when there is a place; rejects with the signal's reason. */
  take(signal: AbortSignal): Promise<void>;
  /** Gives a place back that was taken. */
  release(): void;
}

export function createRunSlots(count: number): RunSlots {
  let free = count;
  const waiting = new Set<() => void>();
  return {
    async take(signal) {
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
    },
    release() {
      const [next] = waiting;
      if (!next) {
        free = Math.min(free + 1, count);
        return;
      }
      waiting.delete(next);
      next();
    },
  };
}
