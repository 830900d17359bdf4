// Shows a command's progress on stderr: a bar on a terminal, a line every few seconds elsewhere.
// The command's results go to stdout.
import { systemClock } from "../runtime/clock.ts";

export interface ProgressOptions {
  readonly label: string;
  /** Units of work; 0 if there is nothing to do, undefined if it is known only at the end. */
  readonly total: number | undefined;
  /** The unit's plural, such as `results`. */
  readonly unit: string;
  readonly output?: Pick<NodeJS.WriteStream, "isTTY" | "write">;
}

export type Progress = ReturnType<typeof createProgress>;

const BAR_EVERY_MS = 100;
const LINE_EVERY_MS = 5000;
const BAR_WIDTH = 30;
/** Returns to the start of a terminal's line, and erases it. */
const ERASE_LINE = "\r\u001B[K";

export function createProgress({ label, total, unit, output = process.stderr }: ProgressOptions) {
  const started = systemClock.monotonic();
  let [done, shown] = [0, started];
  const text = (now: number): string => {
    const seconds = (now - started) / 1000;
    const rate = seconds > 0 ? done / seconds : 0;
    const speed = rate > 0 ? `, ${Math.round(rate)} ${unit}/s` : "";
    if (total === undefined) return `${label} ${done} ${unit}${speed}`;
    const percent = total === 0 ? 100 : Math.floor((100 * done) / total);
    const left = rate > 0 && done < total ? `, ${inWords((total - done) / rate)} left` : "";
    return `${label} ${percent} %, ${done} of ${total} ${unit}${speed}${left}`;
  };
  const bar = (): string => {
    if (total === undefined) return "";
    const filled = total === 0 ? BAR_WIDTH : Math.round((BAR_WIDTH * done) / total);
    return `[${"#".repeat(filled)}${".".repeat(BAR_WIDTH - filled)}] `;
  };
  const show = (now: number): void => {
    shown = now;
    output.write(output.isTTY ? `${ERASE_LINE}${bar()}${text(now)}` : `${text(now)}\n`);
  };
  return {
    /** Advances by this many units. */
    advance(units: number): void {
      done = Math.min(total ?? Infinity, done + units);
      const now = systemClock.monotonic();
      if (now - shown >= (output.isTTY ? BAR_EVERY_MS : LINE_EVERY_MS)) show(now);
    },
    /** Clears the bar for one of the command's own lines; the next update shows it again. */
    hide(): void {
      if (output.isTTY) output.write(ERASE_LINE);
    },
    /** Shows the final state. */
    end(): void {
      show(systemClock.monotonic());
      if (output.isTTY) output.write("\n");
    },
  };
}

const inWords = (seconds: number): string =>
  seconds < 60 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
