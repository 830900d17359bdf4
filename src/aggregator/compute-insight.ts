// Computes one marked insights report from the data stored for its period, and settles it.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Ownership } from "../model/access.ts";
import type { InsightKey, NewInsight, Outlier, StaleInsight } from "../model/insight.ts";
import { createLatencyCounts, madeIn, reportOf } from "../model/insight-report.ts";
import type { HourResults } from "../model/insight-report.ts";
import { periodEnd } from "../model/periods.ts";
import { measureLocation, scoreOfMeasured } from "../model/score.ts";
import type { MeasuredLocation, Score } from "../model/score.ts";
import type { Store } from "../store/store.ts";

/**
 * The outcome of settling a report. Once its call or single results have been removed, it can no
 * longer be computed, and the stored report is kept. `superseded`: the mark has changed or gone
 * meanwhile.
 */
export type Settled = "stored" | "call deleted" | "results removed" | "nothing ran" | "superseded";

/** Rejects with the signal's reason if it aborts meanwhile. */
export async function settleInsight(
  store: Store,
  stale: StaleInsight,
  signal?: AbortSignal,
): Promise<Settled> {
  const computed = await computeInsight(store, stale, signal);
  const isReport = typeof computed === "object";
  const settlement = isReport ? computed : computed === "nothing ran" ? "remove" : "keep";
  if (!(await store.insights.settle(stale, settlement))) return "superseded";
  return isReport ? "stored" : computed;
}

/** The report, or why there is none. */
export type Computed = NewInsight | "call deleted" | "nothing ran" | "results removed";

const MOST_OUTLIERS = 20;

/** Rejects with the signal's reason if it aborts meanwhile. */
export async function computeInsight(
  store: Store,
  { call_id, kind, start }: InsightKey,
  signal?: AbortSignal,
): Promise<Computed> {
  const call = await store.documents.get("call", call_id);
  if (!call) return "call deleted";
  // Read before the results: results that arrive meanwhile must not seem to be missing.
  const summaries = await store.stats.period({ call_id, kind, location_id: null }, start);
  const results = [...summaries.values()].reduce((sum, { count }) => sum + count, 0);
  if (results === 0) return "nothing ran";
  const range = { call_id, from: start, to: periodEnd(kind, start) };
  const { atOnce } = store.insights;
  // A period has at most as many statistics as results.
  const days = results > atOnce.searched ? daysOf(range) : [range];
  const hours = await readPieces(days, store.insights.hours, signal);
  const read = await readLatencies(store, piecesOf(range, hours, atOnce.counted), signal);
  if (read.score.made < madeIn(summaries)) return "results removed";
  const searched = piecesOf(range, hours, atOnce.searched);
  const outliers = await readOutliers(store, searched, read.score, signal);
  const report = reportOf({ call_id, kind, start }, { ...read, summaries, hours, outliers });
  return { ...report, ...ownerOf(call) };
}

interface Range {
  readonly call_id: string;
  readonly from: number;
  readonly to: number;
}

function daysOf({ call_id, from, to }: Range): Range[] {
  const days: Range[] = [];
  for (let day = from; day < to; day = periodEnd("DAY", day))
    days.push({ call_id, from: day, to: periodEnd("DAY", day) });
  return days;
}

/**
 * Cuts the range between hours into pieces of at most `most` results. An hour with more is its own
 * piece.
 */
function piecesOf(range: Range, hours: readonly HourResults[], most: number): Range[] {
  const pieces: Range[] = [];
  let [from, held] = [range.from, 0];
  for (const [time, results] of Map.groupBy(hours, (each) => each.time)) {
    const count = results.reduce((sum, each) => sum + each.count, 0);
    if (held > 0 && held + count > most) {
      pieces.push({ ...range, from, to: time });
      [from, held] = [time, 0];
    }
    held += count;
  }
  return [...pieces, { ...range, from }];
}

async function readLatencies(
  store: Store,
  pieces: readonly Range[],
  signal: AbortSignal | undefined,
) {
  const counts = createLatencyCounts();
  for (const piece of pieces) {
    counts.add(await store.insights.latencies(piece));
    await yieldTurn(signal);
  }
  const locations = counts.locations();
  const measured: MeasuredLocation[] = [];
  for (const location of locations) {
    measured.push(measureLocation(location));
    await yieldTurn(signal);
  }
  const made = locations.reduce((sum, location) => sum + location.made, 0);
  return { locations, score: scoreOfMeasured(made, measured) };
}

/** Returns the slowest first. */
async function readOutliers(
  store: Store,
  pieces: readonly Range[],
  score: Score,
  signal: AbortSignal | undefined,
): Promise<Outlier[]> {
  const fences = score.locations.filter(({ outliers }) => outliers > 0);
  if (fences.length === 0) return [];
  const search = (piece: Range) => store.insights.outliers(piece, fences, MOST_OUTLIERS);
  return (await readPieces(pieces, search, signal))
    .toSorted((a, b) => b.latency - a.latency || (a.result_id < b.result_id ? -1 : 1))
    .slice(0, MOST_OUTLIERS);
}

async function readPieces<T>(
  pieces: readonly Range[],
  read: (piece: Range) => Promise<T[]>,
  signal: AbortSignal | undefined,
): Promise<T[]> {
  const found: T[] = [];
  for (const piece of pieces) {
    found.push(...(await read(piece)));
    await yieldTurn(signal);
  }
  return found;
}

/** Yields the thread to other work. Rejects with the signal's reason once it has aborted. */
export async function yieldTurn(signal: AbortSignal | undefined): Promise<void> {
  await nextTurn();
  signal?.throwIfAborted();
}

const ownerOf = ({ owner, owner_org }: Ownership): Ownership => ({ owner, owner_org });
