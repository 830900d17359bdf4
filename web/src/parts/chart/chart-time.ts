// Formats times along the axis of a chart: 24-hour clock times, and the day where it changes.
import { DAY_MS } from "../../../../src/model/periods.ts";
import { MINUTE_MS } from "../../../../src/model/slots.ts";
import { offsetHere, two } from "../../clock.ts";
import { shortNameOfPeriod } from "../../periods.ts";
import { isLocalTime } from "../time.tsx";

interface Parts {
  readonly year: number;
  readonly day: string;
  readonly clock: string;
}

function partsOf(ms: number, local: boolean): Parts {
  // Shifted by the offset, an instant has the local fields as its UTC fields.
  const shifted = local ? ms + offsetHere(ms) * MINUTE_MS : ms;
  const at = new Date(shifted);
  const seconds = at.getUTCSeconds();
  return {
    year: at.getUTCFullYear(),
    day: `${at.getUTCDate()} ${shortNameOfPeriod("MONTH", shifted)}`,
    clock: `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}${seconds ? `:${two(seconds)}` : ""}`,
  };
}

/** Labels marks that are `step` milliseconds apart, each in two lines at most. */
export function axisTimes(
  marks: readonly number[],
  step: number,
  local = isLocalTime.value,
): string[] {
  return marks.map((ms, index) => {
    const { year, day, clock } = partsOf(ms, local);
    const before = index > 0 ? partsOf(marks[index - 1] as number, local) : undefined;
    if (step >= DAY_MS) return before?.year === year ? day : `${day}\n${year}`;
    return before?.day === day ? clock : `${clock}\n${day}`;
  });
}

/** `14 Nov 09:00 UTC`, with the year if it is not that of `now`; no zone: local time. */
export function shortTime(ms: number, now: number, local = isLocalTime.value): string {
  const { year, day, clock } = partsOf(ms, local);
  const inYear = year === partsOf(now, local).year ? "" : ` ${year}`;
  return `${day}${inYear} ${clock}${local ? "" : " UTC"}`;
}

/** The day only: `14 Nov 2026`. */
export function dayOf(ms: number, local = isLocalTime.value): string {
  const { year, day } = partsOf(ms, local);
  return `${day} ${year}`;
}
