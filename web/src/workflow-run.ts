// The duration and the counts of a workflow's run.
import type { WorkflowResult } from "../../src/model/result.ts";

/** In milliseconds; null for a run that made no call. */
export const durationOf = ({
  start_time,
  end_time,
}: Pick<WorkflowResult["meta"], "start_time" | "end_time">): number | null =>
  start_time === null || end_time === null
    ? null
    : new Date(end_time).getTime() - new Date(start_time).getTime();

/** `3 passed, 1 failed, 2 not made`; an en dash if there are none. */
export function formatCounts({
  calls,
  passed,
  warnings,
  failed,
  not_made,
}: WorkflowResult["counts"]): string {
  if (calls === 0) return "–";
  const parts = [
    [passed, "passed"],
    [warnings, warnings === 1 ? "warning" : "warnings"],
    [failed, "failed"],
    [not_made, "not made"],
  ] as const;
  return parts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count} ${word}`)
    .join(", ");
}
