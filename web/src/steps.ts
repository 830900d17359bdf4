// The steps of a run on its own time axis.
import type { ListedResult } from "../../src/model/result.ts";

export interface Step {
  readonly result: ListedResult;
  /** Its place in the workflow, from 1 on. */
  readonly place: number;
  /** Milliseconds from the start of the run; null for a call that was not made. */
  readonly offsetMs: number | null;
  /** Milliseconds between the end of the call made before it and its own start. */
  readonly pauseMs: number;
}

/** Instants have microseconds, which Date does not read. */
function millis(iso: string): number {
  const micros = /\.\d{3}(\d{1,3})/.exec(iso)?.[1] ?? "0";
  return new Date(iso).getTime() + Number(micros.padEnd(3, "0")) / 1000;
}

/** Shorter pauses are the agent's own work between two calls. */
const SHORTEST_PAUSE_MS = 50;

/** Without `withPauses`, each call begins where the one before it ends. */
export function stepsOf(results: readonly ListedResult[], withPauses: boolean): readonly Step[] {
  let start: number | undefined;
  let end = 0;
  let leftOut = 0;
  return results.map((result, at) => {
    const { start_time } = result.meta;
    if (start_time === null || result.meta.result_category === null)
      return { result, place: at + 1, offsetMs: null, pauseMs: 0 };
    const began = millis(start_time);
    start ??= began;
    const pause = at === 0 ? 0 : Math.max(0, began - start - end);
    const pauseMs = pause < SHORTEST_PAUSE_MS ? 0 : pause;
    end = Math.max(end, began - start) + (result.timing.total ?? 0);
    leftOut += withPauses ? 0 : pauseMs;
    return {
      result,
      place: at + 1,
      offsetMs: began - start - leftOut,
      pauseMs: withPauses ? pauseMs : 0,
    };
  });
}

export const totalPause = (steps: readonly Step[]): number =>
  steps.reduce((sum, { pauseMs }) => sum + pauseMs, 0);
