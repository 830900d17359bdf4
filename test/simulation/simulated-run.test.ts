// What simulated results look like.
import { describe, expect, it } from "vitest";
import { MINUTE_MS } from "../../src/model/slots.ts";
import { runReportValidator } from "../../src/model/result.ts";
import type { ReportedResult } from "../../src/model/result.ts";
import { isUncertain } from "../../src/model/uncertainty.ts";
import { weekOf } from "../../src/simulation/conditions.ts";
import { planOf, seriesOf } from "../../src/simulation/plan.ts";
import type { Plan, PlanOptions } from "../../src/simulation/plan.ts";
import { simulatedRun, triggersOf } from "../../src/simulation/simulated-run.ts";
import { scoreOf } from "../support/score.ts";

const HOUR = 60 * MINUTE_MS;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;
/** A Monday. */
const MONDAY = Date.UTC(2026, 8, 7);
const WEEKS = Array.from({ length: 8 }, (_, week) => MONDAY + week * WEEK);

/** Includes `from`, excludes `until`. */
type Range = readonly [from: number, until: number];

const plan = (change: Partial<PlanOptions> = {}): Plan =>
  planOf({
    seed: 1,
    owner: "ann",
    owner_org: null,
    calls: 8,
    locations: 3,
    frequency: 60,
    ...change,
  });

const made = plan();

const resultsOf = (name: string, from: number, until: number, of = made): ReportedResult[] =>
  [...seriesOf(of)]
    .filter(({ call }) => call.name === `Simulated: ${name}`)
    .flatMap((series) =>
      triggersOf(series.plan, from, until).flatMap((at) => simulatedRun(series, at).report.results),
    );

const passedOf = (results: readonly ReportedResult[]): ReportedResult[] =>
  results.filter(({ meta }) => meta.result === "COMPLETE");

const medianOf = (results: readonly ReportedResult[]): number =>
  middleOf(passedOf(results).map(({ timing }) => timing.total ?? 0));

const middleOf = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;

function scoreOfWeek(name: string, start: number, of = made): number {
  const results = resultsOf(name, start, start + WEEK, of);
  const byLocation = Map.groupBy(passedOf(results), ({ meta }) => meta.location_id);
  const latencies = [...byLocation].map(([location_id, passed]) => ({
    location_id,
    passed: passed.map(({ timing }) => ({
      latency: Math.round(timing.total ?? 0),
      count: 1,
      uncertain: Number(isUncertain(timing)),
    })),
  }));
  return scoreOf(results.filter(({ meta }) => meta.result_category !== null).length, latencies)
    .score;
}

describe("a simulated run", () => {
  it("has the same outcome whatever else is simulated, and in any order", () => {
    const small = plan({ calls: 2, locations: 1, frequency: 720 });
    const again = plan();
    for (const series of [...seriesOf(small)].toReversed())
      for (const trigger of triggersOf(series.plan, MONDAY, MONDAY + 3 * DAY).toReversed()) {
        const same = [...seriesOf(again)].find(
          ({ deploymentId }) => deploymentId === series.deploymentId,
        );
        expect(simulatedRun(series, trigger).report).toEqual(simulatedRun(same!, trigger).report);
      }
  });

  it.each([
    ["seed", { seed: 2 }],
    ["owner", { owner: "bob" }],
    ["organization", { owner_org: "acme" }],
  ])("has its own id for another %s", (_, change) => {
    const idsOf = (of: Plan) =>
      [...seriesOf(of)].map((each) => simulatedRun(each, MONDAY).run.result_id);
    const ids = [...idsOf(made), ...idsOf(plan(change))];
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("looks like one that an agent made, except for its marks", () => {
    for (const series of seriesOf(made))
      for (const trigger of triggersOf(series.plan, MONDAY, MONDAY + DAY)) {
        const { run, report } = simulatedRun(series, trigger);
        expect(runReportValidator.faults(report)).toEqual([]);
        const [{ meta, timing }] = report.results as [ReportedResult];
        expect(meta).toMatchObject({
          agent_id: "simulation",
          domain: expect.stringMatching(/^[a-z0-9-]+\.example$/),
          location_id: expect.stringMatching(/^sim-/),
        });
        expect(run.due_time).toBe(trigger);
        if (meta.start_time === null) continue;
        const start = Date.parse(meta.start_time);
        expect(start - trigger).toBeLessThan(1010);
        expect(Date.parse(meta.end_time!) - start).toBe(Math.trunc(timing.total!));
        expect(timing.total).toBeLessThan(31_000);
      }
  });

  it("shows how it failed: phases not reached are null", () => {
    const failed = resultsOf("fax gateway", MONDAY, MONDAY + 2 * WEEK);
    const refused = failed.find(({ meta }) => meta.message?.startsWith("connect_refused: "));
    expect(refused).toMatchObject({
      meta: { result: "CONNECTION_ERROR", http_code: null, dest_ip: null },
      timing: { dns: expect.any(Number), tcp: null, processing: null, total: expect.any(Number) },
      response: null,
    });
    const broken = failed.find(({ meta }) => meta.http_code === 500);
    expect(broken).toMatchObject({
      meta: { result: "HTTP_SERVER_ERROR" },
      response: { status_code: 500, status_string: "Internal Server Error" },
    });
    const late = resultsOf("payment", MONDAY, MONDAY + WEEK).find(
      ({ meta }) => meta.message === "timeout: the call did not complete within 30 s",
    );
    expect(late).toMatchObject({
      meta: { result: "CONNECTION_ERROR", http_code: null, dest_ip: expect.any(String) },
      timing: { upload: expect.any(Number), processing: null, download: null, total: 30_001 },
    });
  });
});

describe("a simulation", () => {
  it.each([
    ["product search", "good", [800, 999]],
    ["shopping cart", "fair", [600, 799]],
    ["payment", "poor", [1, 599]],
    ["sales report", "good", [800, 999]],
    ["fax gateway", "poor", [0, 10]],
  ])("has a call, %s, that is mostly %s", (name, _, [least = 0, most = 0]) => {
    const scores = WEEKS.map((week) => scoreOfWeek(name, week));
    const inBand = scores.filter((score) => score >= least && score <= most);
    expect(inBand.length, String(scores)).toBeGreaterThanOrEqual(6);
  });

  it.each([1, 2, 3, 4])("has a call that recovers from one poor week in eight, seed %i", (seed) => {
    const other = plan({ seed });
    const scores = WEEKS.map((week) => scoreOfWeek("checkout", week, other));
    expect(scores.filter((score) => score < 600)).toHaveLength(1);
    expect(scores.filter((score) => score >= 800)).toHaveLength(7);
  });

  it("has a call whose processing a release slows down, at one location most", () => {
    const release = MONDAY + 5 * WEEK + DAY + 14 * HOUR;
    const released = plan({ slowRelease: weekOf(release) });
    const results = resultsOf("sales report", MONDAY, MONDAY + 8 * WEEK, released);
    const timesOf = (place: string, phase: "processing" | "handshake", [from, until]: Range) => {
      const made = passedOf(results).filter(({ meta }) => meta.location_id === place);
      const within = made.filter(({ meta }) => {
        const at = Date.parse(meta.due_time);
        return at >= from && at < until;
      });
      return middleOf(within.map(({ timing }) => timing[phase] ?? 0));
    };
    const [before, after]: [Range, Range] = [
      [release - 2 * WEEK, release],
      [release, release + 2 * WEEK],
    ];
    const factorOf = (place: string, phase: "processing" | "handshake") =>
      timesOf(place, phase, after) / timesOf(place, phase, before);
    for (const [place, factor] of [
      ["sim-frankfurt", 2.2],
      ["sim-virginia", 3.3],
      ["sim-singapore", 2.1],
    ] as const) {
      expect(Math.abs(factorOf(place, "processing") - factor)).toBeLessThan(0.25);
      expect(factorOf(place, "handshake")).toBeCloseTo(1, 1);
    }
    // The next hours distinguish the release from the hours before it.
    const around = (range: Range) => timesOf("sim-virginia", "processing", range);
    expect(around([release, release + 6 * HOUR])).toBeGreaterThan(
      2 * around([release - 6 * HOUR, release]),
    );
  });

  it("is slower in the afternoon than at night or on weekends", () => {
    const often = plan({ calls: 2, locations: 1, frequency: 5 });
    const hours = (day: number, hour: number) =>
      WEEKS.flatMap((week) => {
        const from = week + day * DAY + hour * HOUR;
        return resultsOf("shopping cart", from, from + HOUR, often);
      });
    const [night, afternoon] = [medianOf(hours(2, 3)), medianOf(hours(2, 15))];
    expect(afternoon).toBeGreaterThan(1.3 * night);
    expect(medianOf(hours(6, 15))).toBeLessThan(0.95 * afternoon);
  });

  it("has services that slow down between releases", () => {
    const weekly = WEEKS.map((week) =>
      medianOf(
        resultsOf("recommendations", week, week + WEEK).filter(
          ({ meta }) => meta.location_id === "sim-frankfurt",
        ),
      ),
    );
    const rises = weekly.slice(1).filter((median, n) => median > (weekly[n] ?? 0));
    expect(rises.length, String(weekly)).toBeGreaterThanOrEqual(4);
    expect(Math.max(...weekly)).toBeGreaterThan(1.25 * Math.min(...weekly));
  });

  it("has an hour now and then in which a call fails everywhere", () => {
    const often = plan({ calls: 2, locations: 2, frequency: 20 });
    const results = resultsOf("shopping cart", MONDAY, MONDAY + 20 * WEEK, often);
    const inOrder = results.toSorted((a, b) => (a.meta.due_time < b.meta.due_time ? -1 : 1));
    const hours = inOrder.map((_, at) => passedOf(inOrder.slice(at, at + 6)).length);
    const bad = hours.slice(0, -5).filter((passed) => passed <= 1);
    expect(bad.length).toBeGreaterThan(0);
    expect(bad.length).toBeLessThan(20);
  });

  it("has few missed runs, uncertain results and outliers, but some", () => {
    const often = plan({ calls: 1, frequency: 15 });
    const results = resultsOf("product search", MONDAY, MONDAY + 8 * WEEK, often);
    const shareOf = (fits: (result: ReportedResult) => boolean): number =>
      (100 * results.filter(fits).length) / results.length;
    const missed = shareOf(({ meta }) => meta.result === "MISSED");
    const uncertain = shareOf(({ timing }) => isUncertain(timing));
    const median = medianOf(results.filter(({ meta }) => meta.location_id === "sim-frankfurt"));
    const slow = shareOf(
      ({ meta, timing }) =>
        meta.location_id === "sim-frankfurt" &&
        meta.result === "COMPLETE" &&
        (timing.total ?? 0) > 3 * median,
    );
    for (const [share, least, most] of [
      [missed, 0.03, 0.5],
      [uncertain, 0.05, 0.4],
      [slow, 0.005, 1],
    ] as const) {
      expect(share).toBeGreaterThan(least);
      expect(share).toBeLessThan(most);
    }
  });
});
