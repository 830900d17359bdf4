import type { RequestListener } from "node:http";
import { describe, expect, it } from "vitest";
import { missedReport } from "../../src/agent/make-run.ts";
import type { RunControl, RunSettings } from "../../src/agent/make-run.ts";
import { MASK } from "../../src/model/mask.ts";
import { runReportValidator } from "../../src/model/result.ts";
import type { RunReport } from "../../src/model/result.ts";
import type { Tick, TickCall, TickWorkflow } from "../../src/model/tick.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { startRawTarget, silent, startTarget } from "../support/target-server.ts";
import { undisturbed } from "../support/undisturbed.ts";
import { newCall, newRunSettings, newTick, newWorkflow, runTick } from "./calling.ts";

const stepOf = (url: string, step: number, rest: Partial<TickCall> = {}): TickCall =>
  newCall(
    { url, ...rest.request },
    { ...rest, result_id: `step-${step}`, call_id: `call-${step}` },
  );

const workflowTick = (calls: readonly TickCall[], workflow: Partial<TickWorkflow> = {}): Tick => ({
  ...newTick(newCall()),
  result_id: "run",
  due_time: systemClock.now(),
  calls: [...calls],
  workflow: newWorkflow(workflow),
});

async function run(
  tick: Tick,
  { control, ...settings }: Partial<RunSettings> & { readonly control?: Partial<RunControl> } = {},
): Promise<RunReport> {
  const report = await runTick(newRunSettings(settings), tick, control);
  return runReportValidator.parse(report);
}

const codesOf = ({ results }: RunReport): string[] => results.map(({ meta }) => meta.result);

/** Answers `/<status>` with the status. */
const byPath: RequestListener = (request, response) => {
  response.writeHead(Number(/\d{3}/.exec(request.url ?? "")) || 200).end();
};

describe("a workflow's run", () => {
  it("makes its calls in order, and reports each call and the workflow", async () => {
    await using target = await startTarget();
    const report = await run(
      workflowTick(["/a", "/b", "/c"].map((path, n) => stepOf(target.url + path, n))),
    );
    expect(target.requests.map(({ url }) => url)).toEqual(["/a", "/b", "/c"]);
    expect(report).toMatchObject({
      run_id: "run",
      location_id: "here",
      workflow: {
        id: "run",
        meta: {
          workflow_id: "workflow",
          name: "A workflow",
          result: "COMPLETE",
          result_category: "PASS",
          message: null,
          start_time: expect.any(String),
          is_late: false,
        },
        counts: { calls: 3, passed: 3, warnings: 0, failed: 0, not_made: 0 },
      },
    });
    expect(report.results.map(({ id, meta }) => [id, meta.call_id])).toEqual([
      ["step-0", "call-0"],
      ["step-1", "call-1"],
      ["step-2", "call-2"],
    ]);
    for (const { meta } of report.results)
      expect(meta).toMatchObject({
        workflow_id: "workflow",
        workflow_result_id: "run",
        result: "COMPLETE",
      });
  });

  it("may make the same call twice", async () => {
    await using target = await startTarget();
    const twice = [0, 1].map((n) => ({
      ...stepOf(target.url, n),
      call_id: "same",
    }));
    const report = await run(workflowTick(twice));
    expect(report.results.map(({ id, meta }) => [id, meta.call_id])).toEqual([
      ["step-0", "same"],
      ["step-1", "same"],
    ]);
    expect(target.connections()).toBe(2);
  });

  const [ok, bad, worse, gone] = ["COMPLETE", "HTTP_CLIENT_ERROR", "HTTP_SERVER_ERROR", "SKIPPED"];
  it.each([
    [true, [500, 200, 200], [worse, gone, gone], worse],
    [true, [200, 404, 200], [ok, bad, gone], bad],
    [true, [200, 200, 500], [ok, ok, worse], worse],
    [false, [500, 200, 404], [worse, ok, bad], worse],
    [false, [404, 500, 200], [bad, worse, ok], worse],
    [false, [200, 200, 404], [ok, ok, bad], bad],
  ])(
    "with stop_on_failure %s and answers %j has the results %j and ends in %s",
    async (stop_on_failure, answers, codes, whole) => {
      await using target = await startTarget(byPath);
      const calls = answers.map((status, n) => stepOf(`${target.url}/${status}`, n));
      const report = await run(workflowTick(calls, { stop_on_failure }));
      expect(codesOf(report)).toEqual(codes);
      expect(report.workflow?.meta.result).toBe(whole);
      const made = codes.filter((code) => code !== gone).length;
      expect(target.requests).toHaveLength(made);
      for (const { meta } of report.results.slice(made))
        expect(meta).toMatchObject({
          message: `not_reached: call ${made} of the workflow ended with ${codes[made - 1]}`,
          result_category: null,
          start_time: null,
        });
    },
  );

  it.each<[string, (url: string) => Partial<TickCall>, string]>([
    ["that cannot be built", () => ({ tags: ["timeout:none"] }), "UNABLE_TO_RUN"],
    ["that was deleted", () => ({ unable: "it was deleted" }), "UNABLE_TO_RUN"],
  ])("continues after a call %s", async (_what, change, code) => {
    await using target = await startTarget();
    const report = await run(
      workflowTick([stepOf(target.url, 0, change(target.url)), stepOf(target.url, 1)]),
    );
    expect(codesOf(report)).toEqual([code, "COMPLETE"]);
    expect(report.workflow?.meta).toMatchObject({
      result: code,
      result_category: null,
    });
  });

  it("gives its calls the run's ids and the outcome of the previous call", async () => {
    await using target = await startTarget(byPath);
    const url = (path: string): string =>
      `${target.url}/${path}?code=%%HTTP_CODE%%&was=%%RESULT%%&run=%%WORKFLOW_RESULT_ID%%&own=%%RESULT_ID%%&user=%%USER%%`;
    const tick = workflowTick(
      [stepOf(url("204"), 0), stepOf(url("404"), 1), stepOf(url("200"), 2)],
      { stop_on_failure: false },
    );
    await run({ ...tick, context: { USER: "ann" } });
    const seen = target.requests.map((request) =>
      Object.fromEntries(new URL(request.url, target.url).searchParams),
    );
    expect(seen.slice(1)).toEqual([
      { code: "204", was: "COMPLETE", run: "run", own: "step-1", user: "ann" },
      {
        code: "404",
        was: "HTTP_CLIENT_ERROR",
        run: "run",
        own: "step-2",
        user: "ann",
      },
    ]);
  });

  it("prefers the context given with the run to the previous outcome", async () => {
    await using target = await startTarget(byPath);
    const url = `${target.url}/404?code=%%HTTP_CODE%%&was=%%RESULT%%`;
    const tick = workflowTick([stepOf(url, 0), stepOf(url, 1)], {
      stop_on_failure: false,
    });
    await run({ ...tick, context: { HTTP_CODE: 299, RESULT: "given" } });
    expect(target.requests.map((request) => request.url)).toEqual(
      Array(2).fill("/404?code=299&was=given"),
    );
  });

  it("reports its context, with credentials masked", async () => {
    await using target = await startTarget();
    const call = stepOf(target.url, 0);
    const headers = [{ key: "Authorization", value: "Bearer %%BADGE%%" }];
    const tick = workflowTick([{ ...call, request: { ...call.request, headers } }]);
    const context = { USER: "ann", BADGE: "s3same-open", NOTE: "badge s3same-open", PASSWORD: "x" };
    const report = await run({ ...tick, context });
    expect(target.requests[0]?.headers.authorization).toBe("Bearer s3same-open");
    expect(report.context).toEqual({
      USER: "ann",
      BADGE: MASK,
      NOTE: `badge ${MASK}`,
      PASSWORD: MASK,
    });
    expect(await run(tick)).not.toHaveProperty("context");
  });

  it("makes each call only when permitted, after the delay", async () => {
    await using target = await startTarget();
    const waits: { readonly delayMs: number; readonly resolve: () => void }[] = [];
    const running = run(
      workflowTick(
        [0, 1, 2].map((n) => stepOf(target.url, n)),
        { between_calls_delay: 600 },
      ),
      {
        control: {
          pause: (delayMs) => new Promise((resolve) => waits.push({ delayMs, resolve })),
        },
      },
    );
    for (const made of [1, 2]) {
      await expect.poll(() => waits).toHaveLength(1);
      expect(target.requests).toHaveLength(made);
      const [wait] = waits.splice(0);
      expect(wait?.delayMs).toBe(600_000);
      wait?.resolve();
    }
    expect(codesOf(await running)).toEqual(["COMPLETE", "COMPLETE", "COMPLETE"]);
  });

  it.each([-3_600_000, 3_600_000])(
    "keeps the delay between its calls when the clock is set by %i ms",
    async (by) => {
      await using target = await startTarget();
      const clock = createManualClock(systemClock.now());
      const running = run(
        workflowTick(
          [0, 1].map((n) => stepOf(target.url, n)),
          { between_calls_delay: 600 },
        ),
        { clock },
      );
      await expect.poll(() => clock.waiting()).toHaveLength(1);
      await clock.setNow(clock.now() + by);
      await clock.advance(599_999);
      expect(target.requests).toHaveLength(1);
      await clock.advance(1);
      expect(codesOf(await running)).toEqual(["COMPLETE", "COMPLETE"]);
    },
  );

  it("ends at its time limit in the middle of a call", async () => {
    await using target = await startTarget((_, response) => {
      setTimeout(() => response.end(), 600);
    });
    await using stuck = await startRawTarget(silent);
    const urls = [target.url, stuck.url, target.url, target.url];
    const calls = urls.map((url, step) => stepOf(url, step));
    const tick = workflowTick(calls, { stop_on_failure: false });
    const { report, took, made } = await undisturbed(async () => {
      const [began, before] = [performance.now(), target.requests.length];
      const report = await run(tick, { callsLimitMs: 1000 });
      const took = performance.now() - began;
      return { report, took, made: target.requests.length - before };
    });
    expect(took).toBeLessThan(1400);
    expect(made).toBe(1);
    expect(codesOf(report)).toEqual(["COMPLETE", "SKIPPED", "SKIPPED", "SKIPPED"]);
    expect(report.results[2]?.meta.message).toBe(
      "workflow_timeout: the workflow's calls exceeded 1 s",
    );
    expect(report.workflow?.meta.result).toBe("SKIPPED");
    await expect.poll(() => stuck.open()).toBe(0);
  });

  it("ends at its next call when it is cancelled, even during a delay", async () => {
    await using target = await startTarget();
    const cancel = new AbortController();
    const steps = [0, 1, 2].map((n) => stepOf(target.url, n));
    const running = run(workflowTick(steps, { between_calls_delay: 3600 }), {
      control: { cancel: cancel.signal },
    });
    await expect.poll(() => target.requests).toHaveLength(1);
    cancel.abort(new Error("stopping"));
    const { results, workflow } = await running;
    expect(results.map(({ meta }) => [meta.result, meta.message])).toEqual([
      ["COMPLETE", null],
      ["AGENT_ERROR", "agent_error: the agent stopped before the run ended"],
      ["SKIPPED", "not_reached: the agent stopped"],
    ]);
    expect(workflow?.meta.result).toBe("AGENT_ERROR");
  });

  it("fits into a message, whatever its calls sent and received", async () => {
    await using target = await startTarget((_, response) => {
      response.setHeader("x-much", "x".repeat(14_000));
      response.end("y".repeat(20_000));
    });
    const calls = Array.from({ length: 50 }, (_, n) =>
      stepOf(target.url, n, {
        request: {
          ...newCall().request,
          url: `${target.url}/${"z".repeat(8000)}`,
          method: "POST",
          body: "b".repeat(20_000),
        },
      }),
    );
    const report = await run(workflowTick(calls));
    expect(JSON.stringify(report).length).toBeLessThan(1_000_000);
    expect(report.workflow?.counts).toMatchObject({ calls: 50, passed: 50 });
    expect(report.results[0]?.response?.headers).toContainEqual({
      key: "x-much",
      value: "x".repeat(14_000),
    });
    expect(report.results[49]).toMatchObject({
      meta: {
        result: "COMPLETE",
        message: "the report had no room for its details",
      },
      response: null,
    });
  });

  it("that is missed has no call results", () => {
    const tick = workflowTick([stepOf("http://target.example/", 0)]);
    const report = runReportValidator.parse(missedReport(newRunSettings(), tick, tick.due_time));
    expect(report.results).toEqual([]);
    expect(report.workflow).toMatchObject({
      id: "run",
      meta: { result: "MISSED", result_category: null, start_time: null },
      counts: { calls: 0 },
    });
    expect(report.workflow?.meta.message).toMatch(/^started_late: /);
  });
});

describe("cookies", () => {
  const login: RequestListener = (request, response) => {
    if (request.url === "/login")
      response.setHeader("set-cookie", [
        "session=abc; Path=/",
        "narrow=1; Path=/other",
        "safe=1; Path=/; Secure",
        "foreign=1; Path=/; Domain=example.com",
      ]);
    response.end();
  };
  const visit = (url: string, handle_cookies: boolean) =>
    workflowTick(
      ["/login", "/home"].map((path, n) => stepOf(url + path, n)),
      { handle_cookies },
    );

  it("are carried from call to call if the workflow handles them", async () => {
    await using target = await startTarget(login);
    const report = await run(visit(target.url, true));
    const cookies = target.requests.map(({ headers }) => headers.cookie);
    expect(cookies).toEqual([undefined, "session=abc"]);
    expect(JSON.stringify(report)).not.toContain("abc");
  });

  it("are those of the host in the Host header of its calls", async () => {
    await using target = await startTarget(login);
    const headers = [{ key: "Host", value: "www.example.com" }];
    const steps = ["/login", "/home"].map((path, n) =>
      newCall({ url: target.url + path, headers }, { result_id: `step-${n}` }),
    );
    await run(workflowTick(steps, { handle_cookies: true }));
    const cookies = target.requests.map((request) => request.headers.cookie);
    expect(cookies).toEqual([undefined, "session=abc; foreign=1"]);
  });

  it("are not carried if it does not", async () => {
    await using target = await startTarget(login);
    await run(visit(target.url, false));
    const cookies = target.requests.map(({ headers }) => headers.cookie);
    expect(cookies).toEqual([undefined, undefined]);
  });

  it("are not shared between runs", async () => {
    await using target = await startTarget(login);
    const settings = newRunSettings();
    await runTick(settings, visit(target.url, true));
    await runTick(settings, visit(target.url, true));
    const cookies = target.requests.map(({ headers }) => headers.cookie);
    expect(cookies).toEqual([undefined, "session=abc", undefined, "session=abc"]);
  });

  it("are kept across the redirects of one call", async () => {
    await using target = await startTarget((request, response) => {
      if (request.url === "/in")
        response.writeHead(302, {
          "set-cookie": "session=abc; Path=/",
          location: "/on",
        });
      else if (request.url === "/on")
        response.writeHead(302, {
          "set-cookie": "session=def; Path=/",
          location: "/end",
        });
      response.end();
    });
    const { results } = await runTick(
      newRunSettings(),
      newTick(newCall({ url: `${target.url}/in` })),
    );
    expect(results[0]?.meta.result).toBe("COMPLETE");
    const cookies = target.requests.map(({ headers }) => headers.cookie);
    expect(cookies).toEqual([undefined, "session=abc", "session=def"]);
  });
});
