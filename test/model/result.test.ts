// Codes, categories, and results as statistics count them.
import { describe, expect, it } from "vitest";
import { countedResult, summarizeResults } from "../../src/model/counted-result.ts";
import type { RawResult } from "../../src/model/counted-result.ts";
import {
  MADE_CODES,
  RESULT_CODES,
  categoryOf,
  runReportValidator,
} from "../../src/model/result.ts";
import type { Result, ResultCode } from "../../src/model/result.ts";
import { NO_TIMING } from "../../src/model/timing.ts";
import { countOnly, mergeSummaries } from "../../src/model/summary.ts";

const DUE = "2026-10-01T12:00:00.000000Z";
const START = "2026-10-01T12:00:00.250000Z";

function aResult(result: ResultCode = "COMPLETE", total: number | null = 12.5): Result {
  return {
    id: "r1",
    meta: {
      call_id: "c1",
      workflow_id: null,
      workflow_result_id: null,
      deployment_id: "d1",
      location_id: "local",
      agent_id: "a1",
      trigger: "SCHEDULE",
      trigger_time: DUE,
      due_time: DUE,
      start_time: total === null ? null : START,
      end_time: null,
      result,
      result_category: categoryOf(result),
      message: null,
      domain: "h.test",
      url: "http://h.test/",
      http_code: null,
      source_ip: null,
      dest_ip: null,
      request_size: null,
      response_size: null,
      redirects: 0,
      is_late: false,
    },
    timing: { ...NO_TIMING, dns: 1.5, total },
    request: null,
    response: null,
    hops: [],
  };
}

const withMeta = (change: Partial<Result["meta"]>): Result => {
  const { meta, ...result } = aResult();
  return { ...result, meta: { ...meta, ...change } };
};

const raw = (result: ResultCode, latency: number | null): RawResult =>
  countedResult(aResult(result, latency));

describe("the category", () => {
  it.each([
    ["COMPLETE", "PASS"],
    ["HTTP_REDIRECT_ERROR", "WARNING"],
    ["HTTP_CLIENT_ERROR", "WARNING"],
    ["HTTP_SERVER_ERROR", "FAIL"],
    ["CONNECTION_ERROR", "FAIL"],
    ["QUEUED", null],
    ["PROCESSING", null],
    ["SKIPPED", null],
    ["UNABLE_TO_RUN", null],
    ["AGENT_ERROR", null],
    ["MISSED", null],
  ] as const)("of %s is %s", (code, category) => {
    expect(categoryOf(code)).toBe(category);
    expect(MADE_CODES.includes(code)).toBe(category !== null);
  });

  it("is tested for every code", () => {
    expect(RESULT_CODES).toHaveLength(11);
  });
});

describe("statistics count a result", () => {
  it("at its start, or at its due time without one", () => {
    expect(countedResult(aResult()).time).toBe(Date.parse(START));
    expect(countedResult(aResult("MISSED", null)).time).toBe(Date.parse(DUE));
  });

  it.each([
    ["half a millisecond up", 12.5, 13],
    ["less down", 12.499, 12],
    ["nothing as 0", 0.1, 0],
    ["no call as null", null, null],
  ])("with its latency in whole milliseconds: %s", (_, total, latency) => {
    expect(countedResult(aResult("COMPLETE", total)).latency).toBe(latency);
  });

  it("with its code, latency and phases", () => {
    expect(countedResult(aResult())).toEqual({
      call_id: "c1",
      location_id: "local",
      time: Date.parse(START),
      result: "COMPLETE",
      latency: 13,
      phases: {
        dns: 1500,
        tcp: null,
        handshake: null,
        upload: null,
        processing: null,
        download: null,
      },
    });
  });
});

describe("results of one code fold", () => {
  it("into their latencies, where calls were made", () => {
    const results = [raw("COMPLETE", 10), raw("COMPLETE", 30)];
    expect(summarizeResults(results)).toMatchObject({
      count: 2,
      min: 10,
      max: 30,
      mean: 20,
      phases: { dns: { count: 2, sum: 3000 }, tcp: { count: 0, sum: 0 } },
    });
  });

  it.each(["MISSED", "SKIPPED", "UNABLE_TO_RUN", "AGENT_ERROR"] as const)(
    "into a count, for %s",
    (code) => {
      expect(summarizeResults([raw(code, null), raw(code, null)])).toEqual(countOnly(2));
    },
  );

  it("the same at once or one by one", () => {
    const tables: RawResult[][] = [
      [raw("AGENT_ERROR", null), raw("AGENT_ERROR", 7), raw("AGENT_ERROR", null)],
      [raw("CONNECTION_ERROR", 5), raw("CONNECTION_ERROR", 30_000)],
    ];
    for (const results of tables)
      expect(results.map((result) => summarizeResults([result])).reduce(mergeSummaries)).toEqual(
        summarizeResults(results),
      );
  });
});

describe("a report from the wire", () => {
  const report = {
    run_id: "r1",
    location_id: "local",
    agent_id: "a1",
    results: [aResult()],
  };

  // During an upgrade, and until its machine is upgraded, an agent reports no more than this.
  it("may lack every field that was added since protocol 2: a new one is optional", () => {
    const pairs = [{ key: "Accept", value: "*/*" }];
    const phases = { dns: 1, tcp: 2, handshake: 3, upload: 0, processing: 4, download: 0 };
    const timing = { ...phases, total: 10 };
    const run = {
      deployment_id: null,
      location_id: "paris",
      agent_id: "agent-1",
      trigger: "MANUAL",
      trigger_time: DUE,
      due_time: DUE,
      start_time: START,
      end_time: START,
      result: "COMPLETE",
      result_category: "PASS",
      message: null,
      is_late: false,
    };
    const older: unknown = {
      run_id: "r1",
      location_id: "paris",
      agent_id: "agent-1",
      results: [
        {
          id: "r2",
          meta: {
            ...run,
            call_id: "c1",
            workflow_id: "w1",
            workflow_result_id: "r1",
            domain: "h.test",
            url: "http://h.test/",
            http_code: 200,
            source_ip: "192.0.2.1",
            dest_ip: "192.0.2.2",
            request_size: 10,
            response_size: 20,
            redirects: 1,
          },
          timing,
          request: { url: "http://h.test/", method: "GET", headers: pairs, body: null },
          response: { status_code: 200, status_string: "OK", headers: pairs },
          hops: [{ url: "http://h.test/", http_code: 302, dest_ip: "192.0.2.2", timing }],
        },
      ],
      workflow: {
        id: "r1",
        meta: { ...run, workflow_id: "w1", name: "Order" },
        counts: { calls: 1, passed: 1, warnings: 0, failed: 0, not_made: 0 },
      },
    };
    expect(runReportValidator.faults(older)).toEqual([]);
  });

  it("may hold fields of a newer agent", () => {
    const newer = { ...report, load: 0.5 };
    expect(runReportValidator.parse(newer)).toEqual(newer);
  });

  it.each([
    ["no results", { results: [] }],
    [
      "an unknown code",
      {
        results: [{ ...aResult(), meta: { ...aResult().meta, result: "FINE" } }],
      },
    ],
    [
      "an invalid time",
      {
        results: [{ ...aResult(), meta: { ...aResult().meta, due_time: "noon" } }],
      },
    ],
    ["a negative phase", { results: [{ ...aResult(), timing: { ...NO_TIMING, dns: -1 } }] }],
    ["no agent", { agent_id: null }],
    ["a phase of two days", { results: [{ ...aResult(), timing: { ...NO_TIMING, tcp: 2e8 } }] }],
    ["an endless call", { results: [aResult("COMPLETE", 1e300)] }],
    ["an inexact size", { results: [withMeta({ response_size: 2 ** 60 })] }],
    ["an endless status", { results: [withMeta({ http_code: 2 ** 40 })] }],
    ["NUL in the run", { run_id: "r1\0" }],
    ["NUL in a name", { results: [withMeta({ domain: "h\0.test" })] }],
    ["half a character", { results: [withMeta({ agent_id: "\ud83d" })] }],
    ["an overlong name", { results: [withMeta({ source_ip: "é".repeat(601) })] }],
    ["an overlong host", { results: [withMeta({ domain: "h".repeat(2601) })] }],
    ["endless redirects", { results: [withMeta({ redirects: 2 ** 40 })] }],
  ])("is rejected with %s", (_, change) => {
    expect(runReportValidator.accepts({ ...report, ...change })).toBe(false);
  });
});
