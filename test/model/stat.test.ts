// Computing statistics from the summaries of one period.
import { describe, expect, it } from "vitest";
import { RESULT_CODES } from "../../src/model/result.ts";
import type { ResultCode } from "../../src/model/result.ts";
import { STAT_TYPES, advancedStatOf, codesOfType, statOf } from "../../src/model/stat.ts";
import type { PeriodSummaries } from "../../src/model/stat.ts";
import { countOnly, summarize } from "../../src/model/summary.ts";
import type { Sample, Summary } from "../../src/model/summary.ts";

const TIME = Date.parse("2026-10-01T00:00:00Z");
const PHASES: Sample["phases"] = {
  dns: 1000,
  tcp: 2000,
  handshake: null,
  upload: null,
  processing: 4000,
  download: null,
};
const summaryOf = (...latencies: number[]): Summary =>
  summarize(latencies.map((latency) => ({ latency, phases: PHASES })));
const period = (summaries: Partial<Record<ResultCode, Summary>>): PeriodSummaries =>
  new Map(Object.entries(summaries) as [ResultCode, Summary][]);

const mixed = period({
  COMPLETE: summaryOf(100, 200, 300),
  HTTP_CLIENT_ERROR: summaryOf(50),
  HTTP_SERVER_ERROR: summaryOf(1000),
  MISSED: countOnly(2),
  AGENT_ERROR: countOnly(1),
});

describe("a filter by type", () => {
  it.each([
    [
      "ALL is every call that was made",
      "ALL",
      [
        "COMPLETE",
        "HTTP_REDIRECT_ERROR",
        "HTTP_CLIENT_ERROR",
        "HTTP_SERVER_ERROR",
        "CONNECTION_ERROR",
      ],
    ],
    ["a code selects itself", "MISSED", ["MISSED"]],
    ["a reserved code selects nothing", "SLA_ERROR", []],
    ["an unknown word selects nothing", "BLUE", []],
  ])("%s", (_, type, codes) => {
    expect(codesOfType(type)).toEqual(codes);
  });

  it("offers ALL, every code and six reserved ones", () => {
    expect(STAT_TYPES).toEqual([
      "ALL",
      ...RESULT_CODES,
      "SLOW_COMPLETE",
      "CONTENT_WARNING",
      "CONTENT_ERROR",
      "HEADER_ERROR",
      "SLA_WARNING",
      "SLA_ERROR",
    ]);
  });
});

describe("a stat", () => {
  it("of all calls has count, maximum and average", () => {
    expect(statOf(mixed, "ALL", TIME)).toEqual({
      time: "2026-10-01T00:00:00Z",
      count: 5,
      max_latency: 1000,
      avg_latency: 330,
    });
  });

  it("of passed calls has its spread too", () => {
    const stat = statOf(mixed, "COMPLETE", TIME);
    expect(stat).toMatchObject({
      count: 3,
      min_latency: 100,
      max_latency: 300,
      avg_latency: 200,
    });
    expect(stat?.standard_deviation).toBeCloseTo(Math.sqrt(20_000 / 3), 9);
    expect(stat?.skewness).toBeCloseTo(0, 9);
  });

  it("of runs without a call has no latency", () => {
    expect(statOf(mixed, "MISSED", TIME)).toEqual({
      time: "2026-10-01T00:00:00Z",
      count: 2,
      max_latency: null,
      avg_latency: null,
    });
  });

  it.each([
    ["a type without runs", mixed, "CONNECTION_ERROR"],
    ["a reserved type", mixed, "SLOW_COMPLETE"],
    ["a period without runs", period({}), "ALL"],
    ["a MISSED that a late result replaced", period({ MISSED: countOnly(0) }), "MISSED"],
  ])("is null for %s", (_, summaries, type) => {
    expect(statOf(summaries, type, TIME)).toBeNull();
  });

  it("has skewness 0, not NaN, of one call", () => {
    expect(statOf(period({ COMPLETE: summaryOf(42) }), "COMPLETE", TIME)).toMatchObject({
      count: 1,
      standard_deviation: 0,
      skewness: 0,
    });
  });
});

describe("an advanced stat", () => {
  it("has percentiles and phases of the type, missed and passed of the period", () => {
    expect(advancedStatOf(mixed, "COMPLETE")).toEqual({
      p50: 200,
      p75: 300,
      p90: 300,
      p95: 300,
      p99: 300,
      missed: 2,
      pass_percent: 60,
      phases: {
        dns: 1,
        tcp: 2,
        handshake: null,
        upload: null,
        processing: 4,
        download: null,
      },
    });
  });

  it("of a period in which every run was missed has no percentage", () => {
    expect(advancedStatOf(period({ MISSED: countOnly(3) }), "ALL")).toMatchObject({
      p50: null,
      missed: 3,
      pass_percent: null,
      phases: { dns: null, processing: null },
    });
  });

  it("is null for a period without runs", () => {
    expect(advancedStatOf(period({}), "ALL")).toBeNull();
  });
});
