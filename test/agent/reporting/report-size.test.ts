import { describe, expect, it } from "vitest";
import { bareReport, withinMessage } from "../../../src/agent/reporting/report-size.ts";
import type { ReportedResult } from "../../../src/model/result.ts";
import { LIMITS } from "../../../src/model/fields.ts";
import { aResult, aRun } from "../../support/runs.ts";

const KIB = 1024;
const NOTE = "the report had no room for its details";

const { meta, ...rest } = aResult(aRun());

const withContent = (text: string | null, content_type: string | null = null): ReportedResult => ({
  meta,
  ...rest,
  content: {
    content_type,
    encoding: "utf-8",
    size: text?.length ?? 0,
    content: text,
    reason: text === null ? "binary" : null,
  },
});

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

const withHops = (count: number): ReportedResult => ({
  ...rest,
  meta: { ...meta, redirects: count },
  hops: Array.from({ length: count }, () => ({
    url: `http://target.test/?${"%FF".repeat(10 * KIB)}`,
    http_code: 302,
    dest_ip: "127.0.0.1",
    timing: rest.timing,
  })),
});

it("leaves out contents that exceed a report", () => {
  const text = "x".repeat(32 * KIB);
  const results = Array.from({ length: 50 }, () => withContent(text));
  const fitted = withinMessage(results);
  expect(bytesOf(fitted)).toBeLessThan(320 * KIB);
  const reasons = fitted.map(({ content }) => content?.reason);
  expect(new Set(reasons.slice(0, 7))).toEqual(new Set([null]));
  expect(new Set(reasons.slice(7))).toEqual(new Set(["report_full"]));
});

it("reports the outcome of a call with too many redirects to report", () => {
  const [whole, cut] = withinMessage([withHops(10), withHops(50)]);
  expect(whole).toEqual(withHops(10));
  expect(cut).toMatchObject({
    meta: { result: "COMPLETE", redirects: 50, message: NOTE },
    timing: rest.timing,
    hops: [],
  });
});

const long = "\u00ff".repeat(100 * KIB);
it.each<[string, ReportedResult]>([
  ["redirects", withHops(50)],
  ["contents", withContent(long, long)],
  ["types of content", withContent(null, long)],
  ["URLs and messages", { ...rest, meta: { ...meta, url: long, message: long } }],
  [
    "certificates",
    {
      meta,
      ...rest,
      certificate: {
        issuer: long,
        subject: long,
        valid_from: meta.due_time,
        expiry: meta.due_time,
        days: 30,
      },
    },
  ],
  [
    "headers",
    {
      meta,
      ...rest,
      response: {
        status_code: 200,
        status_string: "OK",
        headers: [{ key: "x-long", value: long }],
      },
    },
  ],
])(
  "keeps the results of the longest workflow within a message, however long their %s",
  (_what, result) => {
    const results = Array.from({ length: LIMITS.callIds }, () => result);
    const fitted = withinMessage(results);
    expect(fitted).toHaveLength(LIMITS.callIds);
    expect(bytesOf(fitted)).toBeLessThan(1000 * KIB);
    expect(fitted.map((each) => each.meta.result)).toEqual(results.map((each) => each.meta.result));
  },
);

describe("a bare report", () => {
  it("has outcomes and times, and notes once that the rest is left out", () => {
    const report = {
      run_id: "run",
      location_id: "here",
      agent_id: "agent",
      results: [...withinMessage([withHops(50)]), withContent("text", "text/plain")],
    };
    const { results, ...whole } = bareReport(report);
    expect(whole).toEqual({
      run_id: "run",
      location_id: "here",
      agent_id: "agent",
    });
    expect(results).toMatchObject([
      { meta: { result: "COMPLETE", message: NOTE }, timing: rest.timing },
      {
        meta: { result: "COMPLETE", message: NOTE },
        content: {
          content_type: "text/plain",
          content: null,
          reason: "report_full",
        },
      },
    ]);
  });
});
