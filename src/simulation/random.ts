// Random numbers that follow from a key: the same key gives the same numbers. Not for secrets.
import { hashOf, mixed } from "../model/hash.ts";

export type Random = ReturnType<typeof createRandom>;

/** 32 bits that follow from the parts. */
export const keyOf = (...parts: readonly (string | number)[]): number => hashOf(parts.join("\0"));

/** The key of the nth part of what `key` stands for; cheaper than `keyOf`. */
export const partOfKey = (key: number, n: number): number =>
  mixed(key ^ mixed(Math.imul(n, 0x9e3779b1)));

/** The generator is mulberry32, by Tommy Ettinger, in the public domain. */
export function createRandom(key: number) {
  let state = key | 0;
  /** Uniform from 0 (inclusive) to 1 (exclusive). */
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
  /** Normally distributed, with mean 0 and deviation 1: Box and Muller (1958). */
  const normal = (): number =>
    Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  return {
    chance: (share: number): boolean => next() < share,
    between: (low: number, high: number): number => low + (high - low) * next(),
    /** Log-normally distributed: half are below the median. */
    logNormal: (median: number, sigma: number): number => median * Math.exp(sigma * normal()),
    pick: <T>(items: readonly [T, ...T[]]): T =>
      items[Math.floor(next() * items.length)] ?? items[0],
  };
}
