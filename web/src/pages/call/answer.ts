// The answer at a glance: which phase is slowest, and since when.
import type { Phase } from "../../../../src/model/timing.ts";

/** The averages of a period, or of all of a day's calls. */
export interface PhaseAverages {
  /** Start, in epoch milliseconds. */
  readonly time: number;
  readonly count: number;
  /** Of whole calls, in milliseconds. */
  readonly latency: number | null;
  /** Milliseconds; null: not reached. */
  readonly phases: Readonly<Record<Phase, number | null>>;
}

export interface Slowest {
  readonly phase: Phase;
  readonly ms: number;
  /**
   * The average of whole calls. Null if it is less than the phase, since statistics count each in
   * whole milliseconds, or if failed calls waited in a phase that never ended.
   */
  readonly totalMs: number | null;
  /** Whether calls reached the last phase. */
  readonly isWhole: boolean;
}

export interface Change {
  readonly phase: Phase;
  /** Start of the first period after the change, in epoch milliseconds. */
  readonly since: number;
  /** Medians of the periods before and since, in milliseconds. */
  readonly before: number;
  readonly after: number;
  /** How many periods each median is based on. */
  readonly periods: { readonly before: number; readonly since: number };
}

/**
 * Weights periods by their calls; returns undefined if no phase was reached. The phases of a call
 * that was redirected are those of its last exchange, so they do not add up to its time: only where
 * calls failed does a longer time mean that they waited.
 */
export function slowestPhase(
  periods: readonly PhaseAverages[],
  allPassed: boolean,
): Slowest | undefined {
  const [first] = periods;
  if (!first) return undefined;
  const averages = (Object.keys(first.phases) as Phase[]).flatMap((phase) => {
    const ms = averageOf(periods, ({ phases }) => phases[phase]);
    return ms === null ? [] : [{ phase, ms }];
  });
  const [slowest] = averages.toSorted((a, b) => b.ms - a.ms);
  if (!slowest || slowest.ms <= 0) return undefined;
  const total = averageOf(periods, ({ latency }) => latency);
  const all = averages.reduce((sum, { ms }) => sum + ms, 0);
  const isKnown = total !== null && total >= slowest.ms && (allPassed || total <= 2 * all);
  const isWhole = averages.some(({ phase }) => phase === "download");
  return { ...slowest, totalMs: isKnown ? total : null, isWhole };
}

/** Averages over the periods that have a value, weighted by calls. */
function averageOf(
  periods: readonly PhaseAverages[],
  pick: (period: PhaseAverages) => number | null,
): number | null {
  let [calls, sum] = [0, 0];
  for (const period of periods) {
    const ms = pick(period);
    if (ms === null) continue;
    calls += period.count;
    sum += period.count * ms;
  }
  return calls === 0 ? null : sum / calls;
}

/** Minimum factor of a clear change. */
const LEAST_FACTOR = 1.5;
const LEAST_MS = 5;
/** Maximum share of each side's periods on the wrong side of the middle. */
const MOST_ASTRAY = 0.15;
const FEWEST_BEFORE = 3;
/** With fewer, one slow call decides the average. */
const FEWEST_CALLS = 20;

/**
 * Finds the one clear step of a phase in periods in ascending order: the medians before and since
 * differ by a factor of 1.5 and by 5 ms or more, and at least 85 % of the periods on each side are
 * nearer to their own median (by ratio). Undefined if there is none: slow growth has no such step.
 * Ignores a last period that has barely begun.
 */
export function findChange(periods: readonly PhaseAverages[], phase: Phase): Change | undefined {
  const known = withoutBarelyBegun(periods).flatMap(({ time, phases }) => {
    const ms = phases[phase];
    return ms === null || ms <= 0 ? [] : [{ time, ms }];
  });
  const splits = known.slice(FEWEST_BEFORE).map(({ time }, at) => {
    const [left, right] = [known.slice(0, at + FEWEST_BEFORE), known.slice(at + FEWEST_BEFORE)];
    return splitOf(phase, time, left, right);
  });
  const [best] = splits.toSorted((a, b) => a.cost - b.cost);
  return best && isClear(best) ? best.change : undefined;
}

function withoutBarelyBegun(periods: readonly PhaseAverages[]): readonly PhaseAverages[] {
  const [before, last] = periods.slice(-2);
  const isFull = !before || !last || last.count >= Math.min(FEWEST_CALLS, before.count / 2);
  return isFull ? periods : periods.slice(0, -1);
}

interface Split {
  readonly change: Change;
  /** The times on each side. */
  readonly left: readonly number[];
  readonly right: readonly number[];
  /** The sum of their distances from the median of their side. */
  readonly cost: number;
}

type Times = readonly { readonly ms: number }[];

function splitOf(phase: Phase, since: number, earlier: Times, later: Times): Split {
  const [left, right] = [earlier.map(({ ms }) => ms), later.map(({ ms }) => ms)];
  const [before, after] = [medianOf(left), medianOf(right)];
  const cost = distance(left, before) + distance(right, after);
  const periods = { before: left.length, since: right.length };
  return { change: { phase, since, before, after, periods }, left, right, cost };
}

function isClear({ change: { before, after }, left, right }: Split): boolean {
  const factor = Math.max(before, after) / Math.min(before, after);
  if (factor < LEAST_FACTOR || Math.abs(after - before) < LEAST_MS) return false;
  const middle = Math.sqrt(before * after);
  const isAbove = after > before;
  const astray = (side: readonly number[], above: boolean): boolean =>
    side.filter((ms) => ms > middle !== above).length > side.length * MOST_ASTRAY;
  return !astray(left, !isAbove) && !astray(right, isAbove);
}

/**
 * Narrows down the start of a change by shorter periods around it: returns the start that leaves
 * the fewest of them on the wrong side, or the change's `since` if there are none.
 */
export function onsetOf(
  { phase, since, before, after }: Change,
  hours: readonly PhaseAverages[],
): number {
  const middle = Math.sqrt(before * after);
  const isLikeAfter = hours.flatMap(({ time, phases }) => {
    const ms = phases[phase];
    return ms === null ? [] : [{ time, is: ms > middle === after > before }];
  });
  let [onset, fewest] = [since, Infinity];
  for (const [at, { time }] of isLikeAfter.entries()) {
    const wrong = isLikeAfter.filter(({ is }, place) => is !== place >= at).length;
    if (wrong < fewest) [onset, fewest] = [time, wrong];
  }
  return onset;
}

export const medianOf = (values: readonly number[]): number => {
  const inOrder = values.toSorted((a, b) => a - b);
  const half = (inOrder.length - 1) / 2;
  return ((inOrder[Math.floor(half)] ?? 0) + (inOrder[Math.ceil(half)] ?? 0)) / 2;
};

/** Measures by ratio: otherwise a few slow periods would outweigh all others. */
const distance = (values: readonly number[], from: number): number =>
  values.reduce((sum, value) => sum + Math.abs(Math.log(value / from)), 0);

/** `3.1 times as long`, `0.4 times as long`. */
export function factorText({ before, after }: Pick<Change, "before" | "after">): string {
  const factor = after / before;
  return `${factor >= 10 ? factor.toFixed(0) : factor.toFixed(1)} times as long`;
}
