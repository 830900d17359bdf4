// How many runs of the last 24 hours were made, passed and missed.
import { sum } from "../../../../src/model/sum.ts";

interface Hour {
  readonly count: number;
  readonly adv_stat?: { readonly pass_percent: number | null } | null | undefined;
}

export interface DayCounts {
  readonly made: number;
  readonly passed: number;
  readonly missed: number;
}

/** `every` lists only hours with calls, so missed runs are read separately. */
export function countsOf(every: readonly Hour[], missed: readonly Hour[]): DayCounts {
  const passed = every.map(({ count, adv_stat }) =>
    Math.round((count * (adv_stat?.pass_percent ?? 0)) / 100),
  );
  return { made: sum(every.map(countOf)), passed: sum(passed), missed: sum(missed.map(countOf)) };
}

const countOf = ({ count }: Hour): number => count;
