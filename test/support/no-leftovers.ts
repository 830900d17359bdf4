// Fails a test file that leaves a fixture running. Fixtures register when they start and stop.
import { afterAll, expect } from "vitest";

const running = new Set<string>();

/** Registers a running fixture; call the returned function once it has stopped. */
export function track(name: string): () => void {
  running.add(name);
  return () => running.delete(name);
}

afterAll(() => {
  expect([...running], "left running by this file").toEqual([]);
});
