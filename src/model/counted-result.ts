// What statistics count of a result. The agent, which makes results, needs none of it.
import { categoryOf, latencyOf, timeOfResult } from "./result.ts";
import type { ReportedResult, ResultCode } from "./result.ts";
import { countOnly, summarize } from "./summary.ts";
import type { Sample, Summary } from "./summary.ts";
import { phasesInMicros, toMicros } from "./timing.ts";

/** The columns of a stored result that its statistics are computed from. */
export interface RawResult {
  readonly result: ResultCode;
  /** Whole milliseconds. */
  readonly latency: number | null;
  /** Whole microseconds. */
  readonly phases: Sample["phases"];
}

/** A result as statistics count it. */
export interface CountedResult extends RawResult {
  readonly call_id: string;
  readonly location_id: string;
  /** As `timeOfResult` returns it. */
  readonly time: number;
}

export const countedResult = ({
  meta,
  timing,
}: Pick<ReportedResult, "meta" | "timing">): CountedResult => ({
  call_id: meta.call_id,
  location_id: meta.location_id,
  time: timeOfResult(meta),
  result: meta.result,
  latency: latencyOf(toMicros(timing.total)),
  phases: phasesInMicros(timing),
});

/**
 * Folds results of one code. This one rule for what counts applies both when results arrive and
 * when statistics are recomputed.
 */
export function summarizeResults(results: readonly RawResult[]): Summary {
  const made = results.filter(({ result }) => categoryOf(result) !== null);
  if (made.length === 0) return countOnly(results.length);
  return summarize(made.map(({ latency, phases }) => ({ latency: latency ?? 0, phases })));
}
