// Sends requests at given times from this process.
import { sleep } from "./children.ts";

/** Returns when to send each of `count` requests, in milliseconds from the start. */
export const evenly = (count: number, seconds: number): number[] =>
  Array.from({ length: count }, (_, n) => (n * seconds * 1000) / count);

export const atOnce = (count: number): number[] => Array.from({ length: count }, () => 0);

/** Resolves with every answer. */
export async function sendAt<T>(
  times: readonly number[],
  send: (n: number) => Promise<T>,
): Promise<T[]> {
  const started = performance.now();
  const sent: Promise<T>[] = [];
  for (const [n, time] of times.entries()) {
    const wait = time - (performance.now() - started);
    if (wait > 0) await sleep(wait);
    sent.push(send(n));
  }
  return Promise.all(sent);
}

/** Calls `work` for each item, `width` at a time. */
export async function inParallel<I, T>(
  items: readonly I[],
  width: number,
  work: (item: I) => Promise<T>,
): Promise<T[]> {
  const done: T[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) done[at] = await work(items[at] as I);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return done;
}
