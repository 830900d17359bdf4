// What a result's times are worth, in words.
import type { Result } from "../../../src/model/result.ts";
import type { Timing } from "../../../src/model/timing.ts";
import { formatMs } from "./number.ts";

/** How far the total can be trusted; undefined where nothing was timed, or it is not known. */
export function sureText({ total, uncertainty }: Timing): string | undefined {
  if (total === null || uncertainty === null) return undefined;
  return `at most ${formatMs(uncertainty)} of ${formatMs(total)} may be Sonde's own`;
}

/** Milliseconds from when it was due; null where it did not start. */
export function latenessOf({ start_time, due_time }: Result["meta"]): number | null {
  return start_time === null ? null : Date.parse(start_time) - Date.parse(due_time);
}
