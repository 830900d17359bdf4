// Times along the axis of a chart: 24 hours, and the day where it changes.
import { isLocalTime } from "./time.tsx";

const DAY_MS = 86_400_000;
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

const two = (n: number): string => String(n).padStart(2, "0");

interface Parts {
  readonly year: number;
  readonly day: string;
  readonly clock: string;
}

function partsOf(ms: number, local: boolean): Parts {
  // The UTC fields of an instant that is moved by the offset are the local ones.
  const offset = local ? new Date(ms).getTimezoneOffset() * 60_000 : 0;
  const at = new Date(ms - offset);
  const seconds = at.getUTCSeconds();
  return {
    year: at.getUTCFullYear(),
    day: `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]}`,
    clock: `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}${seconds ? `:${two(seconds)}` : ""}`,
  };
}

/** Of marks `step` milliseconds apart: two lines at most each. */
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

/** `14 Nov 09:00`, with the year where it is another than that of `now`. */
export function shortTime(ms: number, now: number, local = isLocalTime.value): string {
  const { year, day, clock } = partsOf(ms, local);
  return `${day}${year === partsOf(now, local).year ? "" : ` ${year}`} ${clock}`;
}

/** The day only: `14 Nov 2026`. */
export function dayOf(ms: number, local = isLocalTime.value): string {
  const { year, day } = partsOf(ms, local);
  return `${day} ${year}`;
}
