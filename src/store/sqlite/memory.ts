// Remembers what most requests would read, such as their API key, until a process commits anything.
import type { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers";
import type { Guard } from "./guard.ts";

const MOST_REMEMBERED = 1000;

/**
 * Looks for commits once in each turn of the event loop: a request that follows an answer comes in
 * a later one. See https://www.sqlite.org/pragma.html#pragma_data_version
 */
export function createMemory(reader: DatabaseSync, guarded: Guard) {
  const dataVersion = reader.prepare("pragma data_version");
  dataVersion.setReturnArrays(true); // Faster than an object.
  const kept = new Map<string, unknown>();
  let version: unknown;
  let hasLooked = false;
  const lookAgain = (): void => void (hasLooked = false);
  const look = (): void => {
    if (hasLooked && kept.size < MOST_REMEMBERED) return;
    const current = guarded(() => dataVersion.get())?.[0];
    if (current !== version || kept.size >= MOST_REMEMBERED) kept.clear();
    version = current;
    hasLooked = true;
    setImmediate(lookAgain);
  };
  /** Implements `Database.remember`. */
  async function remember<T>(key: string, read: () => Promise<T>): Promise<T> {
    look();
    const current = version;
    const found = kept.get(key) as T | undefined;
    if (found !== undefined) return found;
    const answer = await read();
    if (version === current && answer !== undefined) kept.set(key, answer);
    return answer;
  }
  return {
    remember,
    /** Call it before a write of this process. */
    lookAgain,
  };
}
