// Waits for real servers and processes.
import { vi } from "vitest";

/**
 * Retries `check` until it does not throw and resolves with its result; rejects with its error
 * after 80 seconds, far longer than any wait takes. To compare one value, use `expect.poll`.
 * `interval`, in milliseconds, is longer for a check that takes much of a processor.
 */
export const until = <T>(check: () => T | Promise<T>, interval = 20): Promise<T> =>
  vi.waitFor(check, { timeout: 80_000, interval });
