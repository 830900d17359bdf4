// How many runs of the last 24 hours were made, passed and missed.
import type { StatEntry } from "./sample.ts";

export interface DayCounts {
  readonly made: number;
  readonly passed: number;
  readonly missed: number;
}

/** `every` lists only hours in which calls were made, so what was missed is read apart. */
export function countsOf(
  every: readonly Pick<StatEntry, "count" | "adv_stat">[],
  missed: readonly Pick<StatEntry, "count">[],
): DayCounts {
  const passed = every.map(({ count, adv_stat }) =>
    Math.round((count * (adv_stat?.pass_percent ?? 0)) / 100),
  );
  return { made: sum(every.map(countOf)), passed: sum(passed), missed: sum(missed.map(countOf)) };
}

const countOf = ({ count }: Pick<StatEntry, "count">): number => count;

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
