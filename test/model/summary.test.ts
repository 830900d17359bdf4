// Summaries against an independent two-pass computation, in any split and any order of merging.
import * as fc from "fast-check";
import * as hdr from "hdr-histogram-js";
import { describe, expect, it } from "vitest";
import {
  EMPTY_SUMMARY,
  bucketOf,
  countOnly,
  endOfBucket,
  mergeSummaries,
  percentiles,
  skewness,
  standardDeviation,
  summarize,
} from "../../src/model/summary.ts";
import type { Sample, Summary } from "../../src/model/summary.ts";
import { PHASES } from "../../src/model/timing.ts";
import type { Phase } from "../../src/model/timing.ts";

const NONE = Object.fromEntries(PHASES.map((phase) => [phase, null])) as Sample["phases"];

const sample = (latency: number, phases: Partial<Record<Phase, number>> = {}): Sample => ({
  latency,
  phases: { ...NONE, ...phases },
});
const summaryOf = (...latencies: number[]): Summary =>
  summarize(latencies.map((latency) => sample(latency)));

/** Computes the textbook definitions in two passes over the values. */
function reference(values: readonly number[]) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const moment = (power: number): number =>
    values.reduce((sum, value) => sum + (value - mean) ** power, 0) / values.length;
  const deviation = Math.sqrt(moment(2));
  return {
    count: values.length,
    min: Math.min(...values),
    max: Math.max(...values),
    mean,
    deviation,
    skewness: deviation === 0 ? 0 : moment(3) / deviation ** 3,
  };
}

const numbersOf = (summary: Summary) => ({
  count: summary.count,
  min: summary.min,
  max: summary.max,
  mean: summary.mean,
  deviation: standardDeviation(summary),
  skewness: skewness(summary),
});

/** Relative to the value, or to 1 if it is smaller: skewness has no unit and crosses 0. */
function expectClose(
  actual: Readonly<Record<string, number>>,
  expected: Readonly<Record<string, number>>,
): void {
  for (const [name, value] of Object.entries(expected)) {
    const scale = Math.max(1, Math.abs(value));
    const off = Math.abs((actual[name] ?? NaN) - value) / scale;
    expect(off, `${name}: ${actual[name]} is not ${value}`).toBeLessThan(1e-9);
  }
}

const anyLatencies = fc.oneof(
  fc.array(fc.integer({ min: 0, max: 120_000 }), { minLength: 1 }),
  fc.array(fc.integer({ min: 95, max: 105 }), { minLength: 1 }),
  fc.array(fc.constantFrom(1, 1, 1, 3_600_000), { minLength: 1 }),
);

describe("a summary of latencies", () => {
  it("has the moments of a two-pass computation", () => {
    fc.assert(
      fc.property(anyLatencies, (latencies) => {
        const summary = summaryOf(...latencies);
        expectClose(numbersOf(summary), reference(latencies));
        const inBuckets = [...summary.buckets.values()].reduce((sum, count) => sum + count, 0);
        expect(inBuckets).toBe(latencies.length);
      }),
    );
  });

  it("is the same for any split of the values and any order of merging", () => {
    const anySplit = fc.array(fc.tuple(anyLatencies, fc.integer()), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(anySplit, (split) => {
        const shuffled = split.toSorted(([, a], [, b]) => a - b);
        const merged = shuffled
          .map(([latencies]) => summaryOf(...latencies))
          .reduce(mergeSummaries, EMPTY_SUMMARY);
        const all = split.flatMap(([latencies]) => latencies);
        const whole = summaryOf(...all);
        expectClose(numbersOf(merged), numbersOf(whole));
        expectClose(numbersOf(merged), reference(all));
        expect(merged.buckets).toEqual(whole.buckets);
      }),
    );
  });

  it("is the same merged as a tree or as a list", () => {
    const parts = Array.from({ length: 64 }, (_, n) => summaryOf(n * n, 7 * n, 1000 - n));
    let level = parts;
    while (level.length > 1)
      level = level.flatMap((part, n) =>
        n % 2 ? [] : [mergeSummaries(part, level[n + 1] ?? EMPTY_SUMMARY)],
      );
    expectClose(numbersOf(level[0] ?? EMPTY_SUMMARY), numbersOf(parts.reduce(mergeSummaries)));
  });

  it("stays exact over a thousand million values, merged by doubling", () => {
    const values = [90, 100, 100, 130];
    let summary = summaryOf(...values);
    for (let doubling = 0; doubling < 28; doubling += 1) summary = mergeSummaries(summary, summary);
    expect(summary.count).toBe(4 * 2 ** 28);
    expectClose(numbersOf(summary), {
      ...reference(values),
      count: 4 * 2 ** 28,
    });
    expect(percentiles(summary, [50, 99])).toEqual([100, 130]);
  });

  it.each([
    ["no value at all", []],
    ["one value", [42]],
    ["zero", [0]],
    ["two values", [1, 3]],
    ["equal values", Array.from({ length: 1000 }, () => 333)],
    ["values whose mean has no exact form", [1, 1, 2, 1, 1, 2, 1]],
    ["values beyond the histogram", [3_600_001, 7_200_000]],
  ])("never has a NaN: %s", (_, latencies) => {
    const whole = summaryOf(...latencies);
    const merged = mergeSummaries(mergeSummaries(whole, whole), EMPTY_SUMMARY);
    const numbers = [whole, merged].flatMap((summary) => Object.values(numbersOf(summary)));
    expect(numbers.filter((number) => !Number.isFinite(number))).toEqual([]);
  });

  it.each([
    ["one value", [42]],
    ["equal values", Array.from({ length: 1000 }, () => 333)],
    ["a symmetric pair", [1, 3]],
  ])("has skewness 0 for %s", (_, latencies) => {
    expect(skewness(summaryOf(...latencies))).toBe(0);
    const halves = latencies.map((latency) => summaryOf(latency));
    expect(skewness(halves.reduce(mergeSummaries))).toBeCloseTo(0, 12);
  });

  it("is skewed to the side of its tail", () => {
    expect(skewness(summaryOf(1, 1, 1, 10))).toBeGreaterThan(1);
    expect(skewness(summaryOf(10, 10, 10, 1))).toBeLessThan(-1);
  });
});

describe("a bucket", () => {
  it("matches an HDR histogram with two significant digits", () => {
    const histogram = hdr.build({
      highestTrackableValue: 3_600_000,
      numberOfSignificantValueDigits: 2,
      useWebAssembly: false,
    }) as hdr.JsHistogram;
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 3_600_000 }), (latency) => {
        expect(bucketOf(latency)).toBe(histogram.lowestEquivalentValue(latency));
      }),
    );
    expect([255, 256, 257, 511, 513].map(bucketOf)).toEqual([255, 256, 256, 510, 512]);
    expect(bucketOf(7_200_000)).toBe(bucketOf(3_600_000));
  });

  it("ends where the next one begins", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 3_500_000 }), (latency) => {
        const bucket = bucketOf(latency);
        const end = endOfBucket(bucket);
        expect([bucketOf(end - 1), bucketOf(end)]).toEqual([bucket, end]);
      }),
      { examples: [[0], [255], [256], [511], [512]] },
    );
  });
});

describe("percentiles", () => {
  it("are within 1 % of the value at their rank", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 3_600_000 }), { minLength: 1 }),
        fc.constantFrom(50, 75, 90, 95, 99, 100),
        (latencies, percentile) => {
          const ranked = latencies.toSorted((a, b) => a - b);
          const rank = Math.ceil((percentile / 100) * ranked.length);
          const exact = ranked[Math.max(rank, 1) - 1] ?? NaN;
          const [found] = percentiles(summaryOf(...latencies), [percentile]);
          expect(found).toBeGreaterThanOrEqual(exact);
          expect(found).toBeLessThanOrEqual(exact * 1.01);
        },
      ),
    );
  });

  it("are never above the maximum, and null without latencies", () => {
    expect(percentiles(summaryOf(10_001), [100])).toEqual([10_001]);
    expect(percentiles(EMPTY_SUMMARY, [50, 99])).toEqual([null, null]);
    expect(percentiles(countOnly(3), [50])).toEqual([null]);
  });
});

describe("phases", () => {
  it("sum over the calls that reached them", () => {
    const first = summarize([sample(10, { dns: 1500, tcp: 2000 }), sample(11)]);
    const second = summarize([sample(12, { dns: 500, download: 3000 })]);
    const { phases } = mergeSummaries(first, second);
    expect(phases).toEqual({
      dns: { count: 2, sum: 2000 },
      tcp: { count: 1, sum: 2000 },
      handshake: { count: 0, sum: 0 },
      upload: { count: 0, sum: 0 },
      processing: { count: 0, sum: 0 },
      download: { count: 1, sum: 3000 },
    });
  });
});

describe("a summary that only counts", () => {
  it("adds up, and subtracts what is replaced", () => {
    const missed = mergeSummaries(countOnly(3), countOnly(-1));
    expect(missed).toEqual(countOnly(2));
    expect(mergeSummaries(missed, countOnly(-2))).toEqual(EMPTY_SUMMARY);
  });

  it("changes no other summary when it is empty", () => {
    const summary = summaryOf(1, 2, 3);
    expect(mergeSummaries(summary, EMPTY_SUMMARY)).toEqual(summary);
    expect(mergeSummaries(EMPTY_SUMMARY, summary)).toEqual(summary);
  });
});
