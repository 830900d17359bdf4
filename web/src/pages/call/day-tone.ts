// How a day went, for the calendar.
import type { Tone } from "../../tone.ts";

/** Below this percentage of passed calls, a day is `fail`; below 100, it is `warn`. */
const FAIR_PERCENT = 98;

export interface Day {
  /** Start, in epoch milliseconds. */
  readonly time: number;
  readonly calls: number;
  /** Of the calls that were made. */
  readonly passPercent: number | null;
  readonly missed: number;
}

export function toneOfDay({ calls, passPercent, missed }: Day): Tone {
  if (calls === 0) return missed > 0 ? "missed" : "none";
  if (passPercent !== null && passPercent < FAIR_PERCENT) return "fail";
  if (passPercent !== null && passPercent < 100) return "warn";
  return missed > 0 ? "missed" : "pass";
}
