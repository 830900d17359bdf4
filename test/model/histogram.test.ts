// The outliers of a histogram, against those of a report on the same latencies.
import { array, assert, integer, property } from "fast-check";
import { expect, it } from "vitest";
import { histogramOf } from "../../src/model/histogram.ts";
import type { Spread } from "../../src/model/histogram.ts";
import { measureLocation } from "../../src/model/score.ts";
import type { LocationSpread } from "../../src/model/score.ts";
import { bucketOf, summarize } from "../../src/model/summary.ts";
import { NO_PHASES } from "../../src/model/timing.ts";

function histogramSpread(latencies: readonly number[]): Spread {
  const summary = summarize(latencies.map((latency) => ({ latency, phases: NO_PHASES })));
  const { locations } = histogramOf(new Map([["far", new Map([["COMPLETE", summary]])]]), "ALL");
  return locations[0] as Spread;
}

function reportSpread(latencies: readonly number[]): LocationSpread {
  const passed = latencies.map((latency) => ({ latency, count: 1, uncertain: 0 }));
  return measureLocation({ location_id: "far", passed }).spread;
}

const times = (count: number, latency: number): number[] =>
  Array.from({ length: count }, () => latency);

it("has no outliers among slow calls that differ by less than a bucket's width", () => {
  const { outliers, outlier_from } = histogramSpread([...times(80, 10_040), ...times(20, 10_049)]);
  expect(outliers).toBe(0);
  expect(outlier_from).toBeGreaterThan(10_049);
});

it("counts what is far above slow calls", () => {
  const calls = [...times(80, 10_040), ...times(19, 10_049), 11_000];
  expect(histogramSpread(calls).outliers).toBe(1);
});

it("counts from a whole bucket on, no sooner than a report", () => {
  assert(
    property(array(integer({ min: 0, max: 120_000 }), { minLength: 1 }), (latencies) => {
      const { outlier_from, outliers } = histogramSpread(latencies);
      const from = outlier_from ?? 0;
      expect(from).toBeGreaterThanOrEqual(reportSpread(latencies).outlier_from);
      expect(bucketOf(from)).toBe(from);
      expect(outliers).toBe(latencies.filter((latency) => latency >= from).length);
    }),
  );
});

it("equals a report where each latency has its own bucket", () => {
  assert(
    property(array(integer({ min: 0, max: 60 }), { minLength: 1 }), (latencies) => {
      const { passed, q1, median, q3, outlier_from, outliers } = reportSpread(latencies);
      const expected = { passed, q1, median, q3, outlier_from, outliers };
      expect(histogramSpread(latencies)).toMatchObject(expected);
    }),
  );
});
