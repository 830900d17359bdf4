// Fails the test that leaves a started thing running. Fixtures register here when they start and
// when they stop.
import { afterAll, expect } from "vitest";

const running = new Set<string>();

/** Registers a running fixture; call the returned function when it has stopped. */
export function track(name: string): () => void {
  running.add(name);
  return () => running.delete(name);
}

afterAll(() => {
  expect([...running], "left running by this file").toEqual([]);
});
