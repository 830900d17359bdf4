// What a result's times are worth, in words.
import type { Result } from "../../../src/model/result.ts";
import type { Timing } from "../../../src/model/timing.ts";
import { isUncertain } from "../../../src/model/uncertainty.ts";
import { formatMs } from "./number.ts";

/** How far the total can be trusted; undefined where nothing was timed, or it is not known. */
export function sureText({ total, uncertainty }: Timing): string | undefined {
  if (total === null || uncertainty === null) return undefined;
  return `at most ${formatMs(uncertainty)} of ${formatMs(total)} may be Sonde's own`;
}

/**
 * Why a time is not to be judged by; undefined where it may be. Half of a short time may be Sonde's
 * own before the time counts as uncertain anywhere else.
 */
export function doubtOf(timing: Timing): string | undefined {
  const { total, uncertainty } = timing;
  if (isUncertain(timing)) return "It is never counted as an outlier.";
  if (total === null || uncertainty === null || uncertainty < total / 2) return undefined;
  return "Compare several runs.";
}

/** Milliseconds from when it was due; null where it did not start. */
export function latenessOf({ start_time, due_time }: Result["meta"]): number | null {
  return start_time === null ? null : Date.parse(start_time) - Date.parse(due_time);
}

/**
 * When it began, `late` milliseconds after it was due. What is due in one second starts spread over
 * it, which is no lateness.
 */
export function startText(
  late: number,
  { trigger, is_late }: Pick<Result["meta"], "trigger" | "is_late">,
): string {
  const began = `It began ${formatMs(Math.max(late, 0))} after it was due`;
  if (is_late) return `${began}, late.`;
  if (trigger !== "SCHEDULE" || late > 1000) return `${began}.`;
  return `${began}: scheduled runs have each a place of their own in the second, so this is not late.`;
}
