// The score of calls whose latencies are known, as a report computes it piece by piece.
import { measureLocation, scoreOfMeasured } from "../../src/model/score.ts";
import type { LocationLatencies, Score } from "../../src/model/score.ts";

/** `made` counts the calls at all locations, passed or not. */
export const scoreOf = (made: number, latencies: readonly LocationLatencies[]): Score =>
  scoreOfMeasured(made, latencies.map(measureLocation));
