// The metrics of one call at one location.
import { categoryOf } from "../model/result.ts";
import type { ReportedResult } from "../model/result.ts";
import { countDuration, newDurations } from "../runtime/durations.ts";
import type { Durations } from "../runtime/durations.ts";

/** Seconds. */
const LATENCY_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

/** These counters start at 0: the first result then shows as an increase. */
const OUTCOMES = ["pass", "warning", "fail"];

/** The newest result for which the call was made. */
export interface Newest extends Pick<ReportedResult, "timing" | "certificate"> {
  /** When the call was made. Times here are strings as reported, which sort by time. */
  readonly time: string;
  readonly passed: boolean;
  readonly http_code: number | null;
}

export interface Pair {
  readonly call_id: string;
  readonly location_id: string;
  /** The labels as samples carry them; undefined until the call's name is known. */
  labelText: string | undefined;
  readonly runs: Map<string, number>;
  readonly latencies: Durations;
  newest: Newest | undefined;
  /** When the latest result was due, whatever its outcome. */
  lastDue: string;
  /** Whether the newest result is recent enough to describe the call's state. */
  isCurrent: boolean;
}

export const newPair = ({ meta }: ReportedResult): Pair => ({
  call_id: meta.call_id,
  location_id: meta.location_id,
  labelText: undefined,
  runs: new Map(OUTCOMES.map((outcome) => [outcome, 0])),
  latencies: newDurations(LATENCY_BUCKETS),
  newest: undefined,
  lastDue: "",
  isCurrent: true,
});

/** Counts a result. One for which no call was made says nothing about the target. */
export function countResult(pair: Pair, { meta, timing, certificate }: ReportedResult): void {
  const category = categoryOf(meta.result);
  const outcome = (category ?? meta.result).toLowerCase();
  pair.runs.set(outcome, (pair.runs.get(outcome) ?? 0) + 1);
  if (meta.due_time > pair.lastDue) pair.lastDue = meta.due_time;
  if (category === null) return;
  if (timing.total !== null) countDuration(pair.latencies, timing.total / 1000);
  const time = meta.start_time ?? meta.due_time;
  if (pair.newest && time < pair.newest.time) return; // it was late
  pair.isCurrent = true;
  const { http_code } = meta;
  pair.newest = { time, passed: category === "PASS", http_code, timing, certificate };
}
