// The spans of a run, derived from its tick and its report.
import { expect, it } from "vitest";
import { buildRequest } from "../../src/agent/build-request.ts";
import type { RunReport } from "../../src/model/result.ts";
import type { Tick } from "../../src/model/tick.ts";
import { NO_TIMING } from "../../src/model/timing.ts";
import { isSampled, traceIdOf } from "../../src/runtime/span-ids.ts";
import { dispatchSpan, reportSpans } from "../../src/tracing/run-spans.ts";
import { newCall } from "../agent/calling.ts";
import { T0, aReport, aRun } from "../support/runs.ts";

const RECORDED = { start: T0 + 2000, end: T0 + 2005 };
const RUN = aRun();

/** Returns a report of a call with one redirect, to a URL that holds secrets. */
function redirected(): RunReport {
  const report = aReport(RUN);
  const [result] = report.results;
  if (!result) throw new Error("no result");
  const hop = {
    url: "http://me:hush@first.test:8080/hush?token=hush",
    http_code: 302,
    dest_ip: "203.0.113.7",
    timing: { ...NO_TIMING, dns: 1, tcp: 2, total: 4 },
  };
  return {
    ...report,
    results: [
      {
        ...result,
        meta: {
          ...result.meta,
          url: hop.url,
          message: "hush",
          start_time: new Date(T0).toISOString(),
        },
        timing: { ...NO_TIMING, tcp: 3, handshake: 5, processing: 7, total: 20, uncertainty: 0.5 },
        request: {
          url: hop.url,
          method: "GET",
          headers: [{ key: "a", value: "hush" }],
          body: "hush",
        },
        hops: [hop],
      },
    ],
  };
}

it("places phases one after another, in the redirect or the call that they belong to", () => {
  const spans = reportSpans(redirected(), RECORDED);
  const nameOf = (id: string | undefined): string | undefined =>
    spans.find(({ spanId }) => spanId === id)?.name;
  expect(
    spans.map(({ name, parentId, start, end }) => [name, nameOf(parentId), start - T0, end - T0]),
  ).toEqual([
    ["run", undefined, expect.any(Number), expect.any(Number)],
    ["GET", "run", 0, 20],
    ["redirect", "GET", 0, 4],
    ["dns", "redirect", 0, 1],
    ["tcp", "redirect", 1, 3],
    ["tcp", "GET", 4, 7],
    ["tls", "GET", 7, 12],
    ["processing", "GET", 12, 19],
    ["record", "run", 2000, 2005],
  ]);
});

it("shows only the server of a URL", () => {
  const spans = reportSpans(redirected(), RECORDED);
  expect(JSON.stringify(spans)).not.toContain("hush");
  expect(spans.find(({ name }) => name === "redirect")?.attributes).toMatchObject({
    "server.address": "first.test",
    "server.port": 8080,
    "http.response.status_code": 302,
  });
});

it("joins a dispatch and its report, made in different processes, by ids that never change", () => {
  const tick: Tick = {
    result_id: RUN.result_id,
    trigger: "SCHEDULE",
    trigger_time: T0,
    due_time: T0,
    latest_start: T0,
    deployment_id: "d1",
    location_id: "local",
    context: { password: "hush" },
    calls: [],
  };
  const dispatch = dispatchSpan(tick, { start: T0 - 9000, end: T0 - 8999 });
  const [run] = reportSpans(aReport(RUN), RECORDED);
  expect([run?.traceId, run?.parentId]).toEqual([dispatch.traceId, dispatch.spanId]);
  expect(dispatch).toMatchObject({
    parentId: undefined,
    attributes: { "sonde.role": "scheduler", "sonde.deployment_id": "d1" },
  });
  expect(JSON.stringify(dispatch)).not.toContain("hush");
  // printf %s run-1 | sha256sum
  expect(traceIdOf("run-1")).toBe("4e65d3fbe8ad6535681b021b30785b12");
});

it("gives the call's span the ids that the target gets in traceparent", () => {
  const { run_id, results } = aReport(RUN);
  const [, call] = reportSpans(redirected(), RECORDED);
  const request = buildRequest(newCall({}, { result_id: results[0]?.id ?? "" }), {
    runId: run_id,
    version: "1.2.3",
  });
  if ("reason" in request) throw new Error(request.reason);
  const header = request.request.headers.find(({ key }) => key === "traceparent");
  expect(header?.value).toBe(`00-${call?.traceId}-${call?.spanId}-01`);
});

it("makes no span of a call that was not made", () => {
  const report = aReport(RUN, { result: "MISSED" });
  expect(reportSpans(report, RECORDED).map(({ name, isFailed }) => [name, isFailed])).toEqual([
    ["run", true],
    ["record", false],
  ]);
});

it("samples the configured share", () => {
  const ids = Array.from({ length: 2000 }, (_, n) => traceIdOf(`run-${n}`));
  const count = (share: number): number => ids.filter((id) => isSampled(id, share)).length;
  expect([count(0), count(1)]).toEqual([0, 2000]);
  expect(count(0.25)).toBeGreaterThan(430);
  expect(count(0.25)).toBeLessThan(570);
});
