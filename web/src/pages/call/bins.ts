// Merges a histogram's buckets into distinguishable bars, wider where calls are slow.
import type { Bucket } from "../../../../src/model/histogram.ts";

/** Above this ratio of the slowest to the fastest, bins widen geometrically. */
const LINEAR_UP_TO = 8;

const MOST_BINS = 40;

/** Edges are in milliseconds; a bucket goes into the bin that its start lies in. */
export function binsOf(buckets: readonly Bucket[]): Bucket[] {
  const [first, last] = [buckets[0], buckets.at(-1)];
  if (!first || !last) return [];
  const isLinear = last.to / Math.max(first.from, 1) <= LINEAR_UP_TO;
  const edges = isLinear ? evenEdges(first, last) : growingEdges(first.from, last.to);
  const bins = edges.slice(1).map((to, at) => ({ from: edges[at] as number, to, count: 0 }));
  for (const { from, count } of buckets) {
    const at = bins.findIndex(({ to }) => from < to);
    const bin = bins[at];
    if (bin) bins[at] = { ...bin, count: bin.count + count };
  }
  return bins;
}

/** Returns, for each bin, how many of its calls took `ms` or longer. */
export const countsFrom = (
  ms: number,
  buckets: readonly Bucket[],
  bins: readonly Bucket[],
): number[] =>
  bins.map((bin) =>
    buckets
      .filter(({ from }) => from >= ms && from >= bin.from && from < bin.to)
      .reduce((sum, { count }) => sum + count, 0),
  );

/** Tells whether all bins have the same width, apart from rounding. */
export function areEven(bins: readonly Bucket[]): boolean {
  const widths = bins.map(({ from, to }) => to - from);
  return Math.max(...widths) <= Math.min(...widths) + 1;
}

/**
 * Widths are multiples of the widest bucket: its calls may lie anywhere in it. Buckets start at
 * multiples of their widths, which are powers of two, so that no edge divides one.
 */
function evenEdges(first: Bucket, last: Bucket): number[] {
  const widest = last.to - last.from;
  const start = first.from - (first.from % widest);
  const width = widest * Math.ceil((last.to - start) / widest / MOST_BINS);
  const bins = Math.ceil((last.to - start) / width);
  return Array.from({ length: bins + 1 }, (_, at) => start + at * width);
}

/** Returns whole milliseconds, each greater than the one before. */
function growingEdges(from: number, to: number): number[] {
  const start = Math.max(from, 1);
  const edges = [from];
  for (let n = 1; n <= MOST_BINS; n += 1) {
    const edge = Math.ceil(start * (to / start) ** (n / MOST_BINS));
    if (edge > (edges.at(-1) as number)) edges.push(edge);
  }
  return edges;
}

/** Returns from where on whole buckets lie at `ms` or above: the end of one that begins below. */
export const wholeFrom = (ms: number, buckets: readonly Bucket[]): number =>
  buckets.find(({ from, to }) => from < ms && ms < to)?.to ?? ms;

/** Returns where a latency lies among the bins: the index of a bar plus a share of its width. */
export function placeOf(ms: number, bins: readonly Bucket[]): number {
  const at = bins.findIndex(({ to }) => ms < to);
  const bin = bins[at];
  return bin ? at + Math.max(0, (ms - bin.from) / (bin.to - bin.from)) : bins.length;
}
