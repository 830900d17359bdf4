// Words the uncertainty of a result's times.
import type { Result } from "../../../src/model/result.ts";
import type { Timing } from "../../../src/model/timing.ts";
import { isUncertain } from "../../../src/model/uncertainty.ts";
import { formatMs } from "../number.ts";

/** Words the total's uncertainty; undefined if nothing was timed, or it is unknown. */
export function sureText({ total, uncertainty }: Timing): string | undefined {
  if (total === null || uncertainty === null) return undefined;
  return `at most ${formatMs(uncertainty)} of ${formatMs(total)} may be Sonde's own`;
}

/**
 * Says why a time is too uncertain to judge; undefined if it is not. Also doubts a short time of
 * which half or more may be Sonde's own, although it counts as uncertain nowhere else.
 */
export function doubtOf(timing: Timing): string | undefined {
  const { total, uncertainty } = timing;
  if (isUncertain(timing)) return "It is never counted as an outlier.";
  if (total === null || uncertainty === null || uncertainty < total / 2) return undefined;
  return "Compare several runs.";
}

/** Returns the milliseconds from due to started; null if the run did not start. */
export function latenessOf({ start_time, due_time }: Result["meta"]): number | null {
  return start_time === null ? null : Date.parse(start_time) - Date.parse(due_time);
}

/**
 * Says when a run began, `late` milliseconds after it was due. Runs due in one second start spread
 * over it, which does not make them late.
 */
export function startText(
  late: number,
  { trigger, is_late }: Pick<Result["meta"], "trigger" | "is_late">,
): string {
  const began = `It began ${formatMs(Math.max(late, 0))} after it was due`;
  if (is_late) return `${began}, late.`;
  if (trigger !== "SCHEDULE" || late > 1000) return `${began}.`;
  return `${began}: each scheduled run has its own place in the second, so this is not late.`;
}
