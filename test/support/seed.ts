// Random choices for fault tests, reproducible by a seed.
import type { TestContext } from "vitest";

/** Announces and returns the seed of a test's random choices: FAULT_SEED if set. */
export async function announcedSeed({ annotate }: Pick<TestContext, "annotate">): Promise<number> {
  const seed = Number(process.env["FAULT_SEED"] ?? Math.floor(Math.random() * 2 ** 32));
  await annotate(`FAULT_SEED=${seed} repeats this test's random choices`);
  return seed;
}

/** Mulberry32: a seeded generator of numbers from 0 to 1. */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Returns a number from `from` up to `to`. */
export const between = (random: () => number, from: number, to: number): number =>
  from + random() * (to - from);
