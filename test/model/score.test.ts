import { array, assert, double, integer, nat, property, tuple } from "fast-check";
import { describe, expect, it } from "vitest";
import { bandOf, partsOf, scoreOfParts } from "../../src/model/score.ts";
import type { LatencyCount, LocationLatencies } from "../../src/model/score.ts";
import { scoreOf } from "../support/score.ts";

const at = (location_id: string, latencies: readonly number[]): LocationLatencies => ({
  location_id,
  passed: latencies.map((latency) => ({ latency, count: 1, uncertain: 0 })),
});

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

describe("a score", () => {
  it("is the best for calls that all pass and take the same time", () => {
    const { score, parts } = scoreOf(24, [at("a", times(24, 120))]);
    expect([score, parts.consistency]).toEqual([999, 1]);
  });

  it("is 0 with fewer than 24 calls, and where none passed", () => {
    expect(scoreOf(23, [at("a", times(23, 120))]).score).toBe(0);
    expect(bandOf(scoreOf(23, [at("a", times(23, 120))]))).toBeNull();
    expect(bandOf(scoreOf(24, [at("a", times(24, 120))]))).toBe("good");
    const nothing = scoreOf(30, []);
    expect(nothing).toMatchObject({ score: 0, pass_percent: 0, mean_test_length: 0 });
  });

  it("has the percentages of its counts, without the error of a rounded share", () => {
    expect(scoreOf(25, [at("a", times(14, 100))]).pass_percent).toBe(56);
    const slow = scoreOf(100, [at("a", [...times(93, 100), ...times(7, 900)])]);
    expect([slow.outliers, slow.outlier_percent]).toEqual([7, 7]);
  });

  it("finds quartiles between latencies, and outliers beyond their fence", () => {
    // In order: 10, 20, 30, 40, so the quartiles are at 0.75, 1.5 and 2.25.
    const [spread] = scoreOf(24, [at("a", [40, 10, 30, 20])]).locations;
    expect(spread).toMatchObject({ q1: 17.5, median: 25, q3: 32.5, outlier_from: 78 });
    const { outliers, outlier_percent } = scoreOf(30, [at("a", [...times(29, 100), 109])]);
    expect([outliers, outlier_percent]).toEqual([0, 0]);
    expect(scoreOf(30, [at("a", [...times(29, 100), 110])]).outliers).toBe(1);
  });

  it("counts an uncertain result in the spread, never as an outlier", () => {
    const uncertain: LatencyCount = { latency: 500, count: 1, uncertain: 1 };
    const usual: LatencyCount = { latency: 100, count: 29, uncertain: 0 };
    const { outliers, parts } = scoreOf(30, [{ location_id: "a", passed: [usual, uncertain] }]);
    expect(outliers).toBe(0);
    expect(parts.variation).toBeGreaterThan(0);
    // Counted as one of two that took as long.
    const both = { ...uncertain, uncertain: 0 };
    const counted = [usual, both, uncertain];
    expect(scoreOf(31, [{ location_id: "a", passed: counted }]).outliers).toBe(1);
  });

  it("judges each location by itself, and weighs them by their calls", () => {
    const { outliers, parts } = scoreOf(60, [at("a", times(30, 20)), at("b", times(30, 900))]);
    expect([outliers, parts.consistency]).toEqual([0, 1]);
  });

  it("counts every location with a call that passed, and no other", () => {
    const { passed, locations } = scoreOf(60, [at("a", times(30, 20)), at("b", [20]), at("c", [])]);
    expect(passed).toBe(31);
    expect(locations.map(({ location_id }) => location_id)).toEqual(["a", "b"]);
  });
});

it("has the mean and the standard deviation of all latencies, wherever they were measured", () => {
  const Latencies = array(integer({ min: 0, max: 60_000 }), { minLength: 1, maxLength: 20 });
  assert(
    property(array(Latencies, { minLength: 1, maxLength: 4 }), (perLocation) => {
      const all = perLocation.flat();
      const mean = all.reduce((a, b) => a + b) / all.length;
      const variance = all.reduce((sum, each) => sum + (each - mean) ** 2, 0) / all.length;
      const score = scoreOf(
        all.length,
        perLocation.map((latencies, n) => at(`${n}`, latencies)),
      );
      expect(score.mean_test_length).toBeCloseTo(mean, 6);
      expect(score.sd_test_length).toBeCloseTo(Math.sqrt(variance), 4);
    }),
  );
});

it("has a consistency of 1 where all calls of a location take the same time", () => {
  assert(
    property(array(nat(3_600_000), { minLength: 1, maxLength: 5 }), nat(50), (latencies, more) => {
      const locations = latencies.map((each, n) => at(`${n}`, times(more + 1, each)));
      expect(scoreOf(1000, locations).parts.consistency).toBe(1);
    }),
  );
});

const Shares = double({ min: 0, max: 1, noNaN: true });

it("never rises with more failures, more outliers or more variation", () => {
  assert(
    property(array(Shares, { minLength: 4, maxLength: 4 }), (numbers) => {
      const [p, o, v, more] = numbers as [number, number, number, number];
      const score = scoreOfParts(partsOf(p, o, 5 * v));
      expect(scoreOfParts(partsOf(p * more, o, 5 * v))).toBeLessThanOrEqual(score);
      expect(scoreOfParts(partsOf(p, o + (1 - o) * more, 5 * v))).toBeLessThanOrEqual(score);
      expect(scoreOfParts(partsOf(p, o, 5 * v + more))).toBeLessThanOrEqual(score);
    }),
  );
});

it("does not depend on the order of the results, nor on how they are counted", () => {
  const Latencies = array(integer({ min: 0, max: 3_600_000 }), { maxLength: 60 });
  assert(
    property(Latencies, Latencies, (a, b) => {
      const given = scoreOf(a.length + b.length, [at("a", a), at("b", b)]);
      const counted = [...Map.groupBy(a.toReversed(), (latency) => latency)].map(
        ([latency, same]) => ({ latency, count: same.length, uncertain: 0 }),
      );
      const other = [at("b", b.toReversed()), { location_id: "a", passed: counted }];
      const { locations, ...score } = scoreOf(a.length + b.length, other);
      expect(score).toEqual(withoutLocations(given));
      expect(locations).toHaveLength(given.locations.length);
    }),
    // Equal ones added one by one differ in the last digit from equal ones counted together.
    { examples: [[[539667, 116473, 19, 1493056, 9, 14, 19], []]] },
  );
});

it("never rises with one more failure", () => {
  assert(
    property(array(nat(2000), { minLength: 24, maxLength: 80 }), nat(20), (a, failed) => {
      const [before, after] = [0, 1].map((more) => scoreOf(a.length + failed + more, [at("a", a)]));
      expect(after?.score).toBeLessThanOrEqual(before?.score ?? 0);
    }),
  );
});

/** Close to one another, except for a few; in ascending order. */
const UsualLatencies = tuple(
  array(integer({ min: 20, max: 60 }), { minLength: 20, maxLength: 60 }),
  array(integer({ min: 60, max: 300 }), { maxLength: 6 }),
).map(([near, far]) => [...near, ...far].toSorted((a, b) => a - b));

it("never rises when a call that took a usual time becomes an outlier, within limits", () => {
  let met = 0;
  assert(
    property(UsualLatencies, nat(), nat(9), nat(3000), (latencies, place, failed, beyond) => {
      const before = scoreOf(latencies.length + failed, [at("a", latencies)]);
      const [spread] = before.locations;
      const usual = latencies.filter((latency) => latency < (spread?.outlier_from ?? 0));
      const one = usual[place % usual.length] ?? 0;
      const mean = usual.reduce((a, b) => a + b) / usual.length;
      if (usual.length < 11 || one > 3.5 * mean) return;
      const rest = latencies.toSpliced(latencies.indexOf(one), 1);
      const slow = (spread?.outlier_from ?? 0) + beyond;
      const after = scoreOf(latencies.length + failed, [at("a", [...rest, slow])]);
      const [moved] = after.locations;
      const isSame = (["q1", "median", "q3"] as const).every((q) => moved?.[q] === spread?.[q]);
      if (!isSame || after.outliers !== before.outliers + 1) return;
      met += 1;
      expect(after.score).toBeLessThanOrEqual(before.score);
    }),
    { numRuns: 500 },
  );
  expect(met).toBeGreaterThan(50);
});

const withoutLocations = ({ locations: _locations, ...score }: ReturnType<typeof scoreOf>) => score;
