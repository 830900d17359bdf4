// Orders runs by time. Lists of the interface are in the order of ids, which have the time of the
// trigger: a run with a `run_delay` begins later than others that were triggered after it.
import type { Result } from "../../src/model/result.ts";

interface Run {
  readonly meta: Pick<Result["meta"], "start_time" | "due_time">;
}

export const timeOfRun = ({ meta }: Run): number => Date.parse(meta.start_time ?? meta.due_time);

/** Runs of the same time stay in their order. */
export const newestFirst = <T extends Run>(runs: readonly T[]): T[] =>
  runs.toSorted((a, b) => timeOfRun(b) - timeOfRun(a));

export const oldestFirst = <T extends Run>(runs: readonly T[]): T[] =>
  runs.toSorted((a, b) => timeOfRun(a) - timeOfRun(b));
