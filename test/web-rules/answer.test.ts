// The summary at the top of a call's page: which phase is slowest, and since when and where.
import { describe, expect, it } from "vitest";
import { findChange, onsetOf, slowestPhase } from "../../web/src/pages/call/answer.ts";
import type { Change, PhaseAverages } from "../../web/src/pages/call/answer.ts";
import { whereChanged } from "../../web/src/pages/call/where.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NONE = { dns: null, tcp: null, handshake: null, upload: null, download: null };

/** Builds periods of `step` with these averages of processing. */
const series = (values: readonly (number | null)[], step = DAY): PhaseAverages[] =>
  values.map((processing, at) => ({
    time: at * step,
    count: 100,
    latency: processing,
    phases: { ...NONE, processing },
  }));

const repeat = (times: number, value: (at: number) => number): number[] =>
  Array.from({ length: times }, (_, at) => value(at));

/** Adds deterministic noise of ±10 %. */
const noisy = (ms: number) => (at: number) => ms * (1 + 0.1 * Math.sin(at * 7));

const CHANGE: Change = {
  phase: "processing",
  since: 31 * DAY,
  before: 100,
  after: 300,
  periods: { before: 31, since: 17 },
};

describe("the slowest phase", () => {
  it("has the largest average, weighted by calls", () => {
    const phases = { ...NONE, dns: 2, tcp: 10, processing: 30 };
    const few = { time: 0, count: 1, latency: 1040, phases: { ...phases, tcp: 1000 } };
    expect(slowestPhase([few, { time: HOUR, count: 99, latency: 45, phases }], true)).toEqual({
      phase: "processing",
      ms: 30,
      totalMs: (1040 + 99 * 45) / 100,
      isWhole: false,
    });
  });

  it("has no total where statistics round it to less than the phase", () => {
    const period = { time: 0, count: 2, latency: 1, phases: { ...NONE, processing: 1.2 } };
    expect(slowestPhase([period], true)).toMatchObject({ phase: "processing", totalMs: null });
  });

  it("has no total where most of it was spent in a phase that did not end", () => {
    const period = (latency: number): PhaseAverages => ({
      time: 0,
      count: 2,
      latency,
      phases: { ...NONE, upload: 0.5, processing: 1.5 },
    });
    expect(slowestPhase([period(4)], false)).toMatchObject({ ms: 1.5, totalMs: 4 });
    expect(slowestPhase([period(2000)], false)).toMatchObject({ ms: 1.5, totalMs: null });
    // The exchanges before a redirect took the rest.
    expect(slowestPhase([period(2000)], true)).toMatchObject({ ms: 1.5, totalMs: 2000 });
  });

  it("counts a phase only over the calls that reached it", () => {
    const failed = {
      time: 0,
      count: 900,
      latency: 5,
      phases: { ...NONE, dns: 5, processing: null },
    };
    const passed = {
      time: HOUR,
      count: 100,
      latency: 45,
      phases: { ...NONE, dns: 5, processing: 40 },
    };
    expect(slowestPhase([failed, passed], false)).toMatchObject({ phase: "processing", ms: 40 });
  });

  it.each([[[]], [series([null, null])]])("is none without measured calls", (periods) => {
    expect(slowestPhase(periods, true)).toBeUndefined();
  });
});

describe("the change of a phase", () => {
  it.each<[what: string, values: readonly number[], at: number]>([
    ["a step up", [...repeat(40, noisy(260)), ...repeat(8, noisy(812))], 40],
    ["a step down", [...repeat(20, noisy(800)), ...repeat(20, noisy(200))], 20],
    ["a step on the last day", [...repeat(50, noisy(100)), 320], 50],
    ["a step with a stray day", [...repeat(30, noisy(100)), 300, 310, 90, 305, 300, 290, 310], 30],
  ])("is found in %s", (_, values, at) => {
    const change = findChange(series(values), "processing");
    expect(change?.since).toBe(at * DAY);
    expect(Math.abs((change?.after ?? 0) - (values[at] ?? 0))).toBeLessThan(
      0.2 * (values[at] ?? 0),
    );
  });

  it.each<[what: string, values: readonly (number | null)[]]>([
    ["no days", []],
    ["too few days before", [100, 100, 300]],
    ["noise", repeat(57, noisy(300))],
    ["a small step", [...repeat(20, noisy(100)), ...repeat(20, noisy(130))]],
    ["a step below 5 ms", [...repeat(20, () => 1), ...repeat(20, () => 3)]],
    ["days that swing", repeat(56, (at) => (at % 2 === 0 ? 100 : 400))],
    ["a single slow day long ago", [...repeat(30, noisy(100)), 900, ...repeat(20, noisy(100))]],
    ["a phase that was not reached", repeat(20, () => 0)],
  ])("is none in %s", (_, values) => {
    expect(findChange(series(values), "processing")).toBeUndefined();
  });

  it("needs more than the few calls of a day that has only begun", () => {
    const days = series([...repeat(50, noisy(100)), 900]);
    const begun = (count: number) => days.map((day, at) => (at === 50 ? { ...day, count } : day));
    expect(findChange(begun(3), "processing")).toBeUndefined();
    expect(findChange(begun(20), "processing")?.since).toBe(50 * DAY);
    const rare = begun(2).map((day, at) => ({ ...day, count: at < 50 ? 4 : 2 }));
    expect(findChange(rare, "processing")?.since).toBe(50 * DAY);
  });

  it("begins in the hour in which the new times start", () => {
    const change = { ...CHANGE, since: DAY };
    const hours = series([...repeat(31, noisy(100)), ...repeat(17, noisy(300))], HOUR);
    expect(onsetOf(change, hours)).toBe(31 * HOUR);
    const stray = hours.map((hour) =>
      hour.time === 10 * HOUR ? { ...hour, phases: { ...NONE, processing: 500 } } : hour,
    );
    expect(onsetOf(change, stray)).toBe(31 * HOUR);
    expect(onsetOf(change, [])).toBe(DAY);
  });
});

describe("where a phase has changed", () => {
  it.each<[places: Readonly<Record<string, number>>, said: string | undefined]>([
    [{ Rome: 2, Oslo: 2, Bern: 4 }, "At all 3 locations, most at Bern: 4.0 times as long (400 ms)"],
    [{ Rome: 3, Oslo: 2.9 }, "Similar at both locations"],
    [{ Rome: 1, Oslo: 3 }, "Only at Oslo: 3.0 times as long (300 ms)"],
    [{ Rome: 1, Oslo: 3, Bern: 3.1 }, "Only at Bern, Oslo"],
    [{ Rome: 1, A: 2, B: 2, C: 2, D: 2 }, "At 4 of 5 locations"],
    [{ Rome: 3 }, undefined],
  ])("is said of %j: %s", (factors, said) => {
    const places = Object.entries(factors).map(([location, factor]) => ({
      location,
      days: series([...repeat(31, () => 100), ...repeat(17, () => 100 * factor)]),
    }));
    expect(whereChanged(CHANGE, places, (location) => location)).toBe(said);
  });

  it("names the fastest location after an improvement, without those that lack data", () => {
    const faster = { ...CHANGE, before: 400, after: 100 };
    const days = (after: number) => series([...repeat(31, () => 400), ...repeat(17, () => after)]);
    const places = [
      { location: "Rome", days: days(200) },
      { location: "Oslo", days: days(100) },
      { location: "Bern", days: days(100).slice(40) },
    ];
    expect(whereChanged(faster, places, (location) => location)).toBe(
      "At both locations, most at Oslo: 0.3 times as long (100 ms)",
    );
  });
});
