// Waits for what real servers and processes come to in their own time.
import { vi } from "vitest";

/**
 * Resolves with what `check` returns once it does not throw; rejects with its error after 40
 * seconds, far more than any of it takes. Where one value is compared, `expect.poll` says it
 * shorter.
 */
export const until = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 40_000, interval: 20 });
