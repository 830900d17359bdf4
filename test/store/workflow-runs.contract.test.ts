import { describe, expect, it } from "vitest";
import { PERIOD_KINDS, periodStart } from "../../src/model/periods.ts";
import { keptFrom } from "../../src/model/retention.ts";
import { summarizeResults } from "../../src/model/counted-result.ts";
import type { RunReport } from "../../src/model/result.ts";
import { decodeTime, newId, stepIds } from "../../src/runtime/ids.ts";
import type { PendingRun } from "../../src/store/records.ts";
import { aReport, aRun, aWorkflow, aWorkflowReport, T0 } from "../support/runs.ts";
import { sharedStore, storeKinds } from "../support/stores.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ALL = { after: "", limit: 100 };

describe.each(storeKinds)("runs of workflows on %s", (kind) => {
  const { store } = sharedStore(kind);

  /** Orders and plans a run with calls of its own. */
  const planned = async (change: Partial<PendingRun> = {}, calls = 3): Promise<PendingRun> => {
    const run = aRun({
      target_kind: "workflow",
      target_id: newId(T0),
      deployment_id: newId(T0),
      ...change,
    });
    const call_ids = Array.from({ length: calls }, () => newId(T0));
    const expires_at = run.expires_at + HOUR;
    await store.pendingRuns.insert([run]);
    await store.pendingRuns.plan([{ result_id: run.result_id, call_ids, expires_at }]);
    return { ...run, call_ids, expires_at };
  };
  const stepsOf = (run: PendingRun) =>
    store.results.getMany(stepIds(run.due_time, run.result_id, 3));
  const countOf = async (call_id: string) => {
    const query = { call_id, kind: "HOUR", location_id: null } as const;
    const summaries = await store.stats.period(query, T0);
    return [...summaries].map(([code, { count }]) => [code, count]);
  };
  const missed = (run: PendingRun) =>
    ({ run, result: "MISSED", message: "no agent answered" }) as const;

  it("keep their first plan", async () => {
    const run = await planned();
    expect(await store.pendingRuns.get(run.result_id)).toEqual(run);
    await store.pendingRuns.plan([
      { result_id: run.result_id, call_ids: ["other"], expires_at: 0 },
    ]);
    expect(await store.pendingRuns.get(run.result_id)).toEqual(run);
  });

  it("are recorded with their calls, once, however often they are reported", async () => {
    const run = await planned();
    const report = aWorkflowReport(run, [
      {},
      { result: "HTTP_SERVER_ERROR" },
      { result: "SKIPPED" },
    ]);
    expect(await store.results.record([report, report])).toEqual({
      recorded: 1,
      late: 0,
      duplicate: 1,
      unknown: 0,
    });
    expect(await store.results.record([report])).toMatchObject({
      recorded: 0,
      duplicate: 1,
    });
    expect(await store.workflowResults.get(run.result_id)).toEqual(report.workflow);
    expect(await stepsOf(run)).toEqual(report.results);
    expect(await store.pendingRuns.get(run.result_id)).toBeUndefined();
    expect(await store.pendingRuns.insert([run])).toEqual([]);
    const [one = "", two = "", three = ""] = run.call_ids ?? [];
    expect(await countOf(one)).toEqual([["COMPLETE", 1]]);
    expect(await countOf(two)).toEqual([["HTTP_SERVER_ERROR", 1]]);
    expect(await countOf(three)).toEqual([["SKIPPED", 1]]);
  });

  it("may make the same call twice", async () => {
    const run = aRun({ target_kind: "workflow", target_id: newId(T0) });
    const call = newId(T0);
    const plan = { ...run, call_ids: [call, call] };
    await store.pendingRuns.insert([run]);
    await store.pendingRuns.plan([plan]);
    await store.results.record([aWorkflowReport(plan)]);
    expect(await countOf(call)).toEqual([["COMPLETE", 2]]);
    expect(await store.results.listOfCall(call, ALL)).toHaveLength(2);
  });

  it("are recorded as MISSED in one row, which a late report replaces", async () => {
    const run = await planned();
    expect(await store.results.recordUnreported([missed(run)])).toBe(1);
    expect(await store.results.recordUnreported([missed(run)])).toBe(0);
    expect(await store.workflowResults.get(run.result_id)).toMatchObject({
      id: run.result_id,
      meta: {
        workflow_id: run.target_id,
        result: "MISSED",
        message: "no agent answered",
        start_time: null,
      },
      counts: { calls: 0 },
    });
    expect(await store.results.get(run.result_id)).toBeUndefined();
    expect(await countOf(run.target_id)).toEqual([]);
    expect(await store.pendingRuns.insert([run])).toEqual([]);

    const late = aWorkflowReport(run);
    const first = await store.results.record([late]);
    expect(first).toMatchObject({ recorded: 1, late: 1 });
    const second = await store.results.record([late]);
    expect(second).toMatchObject({ recorded: 0, duplicate: 1 });
    expect(await store.workflowResults.get(run.result_id)).toEqual(late.workflow);
    expect(await stepsOf(run)).toEqual(late.results);
    for (const call of run.call_ids ?? []) expect(await countOf(call)).toEqual([["COMPLETE", 1]]);
  });

  it("that were MISSED without a plan are replaced by a report on the workflow's calls", async () => {
    const calls = Array.from({ length: 3 }, () => newId(T0));
    const workflow = aWorkflow(calls);
    await store.documents.insert(workflow);
    const run = aRun({ target_kind: "workflow", target_id: workflow.id });
    expect(await store.results.recordUnreported([missed(run)])).toBe(1);
    const others = { ...run, call_ids: calls.toReversed() };
    expect(await store.results.record([aWorkflowReport(others)])).toMatchObject({ unknown: 1 });
    const late = aWorkflowReport({ ...run, call_ids: calls });
    expect(await store.results.record([late])).toMatchObject({ recorded: 1, late: 1 });
    expect(await store.workflowResults.get(run.result_id)).toEqual(late.workflow);
    expect(await stepsOf(run)).toEqual(late.results);
  });

  it("keep their context as long as the details of results", async () => {
    const [run, without] = [await planned(), await planned()];
    const contextOf = (each: PendingRun) => store.workflowResults.context(each.result_id);
    const context = { USER: "ann \0 <b>", DEEP: { list: [1, null] } };
    await store.results.recordUnreported([missed(run)]);
    expect(await contextOf(run)).toBeUndefined();
    await store.results.record([{ ...aWorkflowReport(run), context }, aWorkflowReport(without)]);
    expect(await contextOf(run)).toEqual(context);
    expect(await contextOf(without)).toBeUndefined();

    const now = decodeTime(run.result_id) + 10 * 24 * HOUR;
    const days = { details: 1, raw: 90, hours: 90, audit: 90 };
    const kept = keptFrom(days, now, now);
    await store.retention.remove("details", { kept, after: undefined, limit: 10_000 });
    expect(await contextOf(run)).toBeUndefined();
    expect(await store.workflowResults.get(run.result_id)).toBeDefined();
  });

  it("keep their outcome when they are then reported missed", async () => {
    const run = await planned();
    const report = aWorkflowReport(run);
    await store.results.record([report]);
    expect(await store.results.recordUnreported([missed(run)])).toBe(0);
    const { workflow, ...rest } = report;
    const missedByAgent: RunReport = {
      ...rest,
      results: [],
      workflow: {
        ...workflow!,
        meta: { ...workflow!.meta, result: "MISSED" },
        counts: { calls: 0, passed: 0, warnings: 0, failed: 0, not_made: 0 },
      },
    };
    expect(await store.results.record([missedByAgent])).toMatchObject({
      duplicate: 1,
    });
    expect(await store.workflowResults.get(run.result_id)).toEqual(workflow);

    const { target_id, deployment_id } = run;
    const other = await planned({ target_id, deployment_id });
    const missedOther: RunReport = {
      ...missedByAgent,
      run_id: other.result_id,
      workflow: { ...missedByAgent.workflow!, id: other.result_id },
    };
    expect(await store.results.record([missedOther])).toMatchObject({
      recorded: 1,
    });
  });

  const first = (
    { results, ...rest }: RunReport,
    change: (result: RunReport["results"][number]) => object,
  ): RunReport => ({
    ...rest,
    results: results.map((result, n) => (n === 0 ? { ...result, ...change(result) } : result)),
  });
  it.each<[string, (report: RunReport, run: PendingRun) => RunReport]>([
    ["another id", (report) => first(report, () => ({ id: newId(T0) }))],
    [
      "another call",
      (report) => first(report, ({ meta }) => ({ meta: { ...meta, call_id: "victim" } })),
    ],
    ["another location", (report) => ({ ...report, location_id: "elsewhere" })],
    [
      "a call at another location",
      (report) =>
        first(report, ({ meta }) => ({
          meta: { ...meta, location_id: "elsewhere" },
        })),
    ],
    [
      "a call too few",
      (report) => ({
        ...report,
        results: report.results.slice(1),
        workflow: {
          ...report.workflow!,
          counts: { ...report.workflow!.counts, calls: 2 },
        },
      }),
    ],
    [
      "its calls in another order",
      (report) => ({ ...report, results: report.results.toReversed() }),
    ],
    [
      "another workflow",
      ({ workflow, ...report }) => ({
        ...report,
        workflow: {
          ...workflow!,
          meta: { ...workflow!.meta, workflow_id: "victim" },
        },
      }),
    ],
    [
      "another deployment",
      ({ workflow, ...report }) => ({
        ...report,
        workflow: { ...workflow!, meta: { ...workflow!.meta, deployment_id: "victim" } },
      }),
    ],
    [
      "the run of another workflow",
      ({ workflow, ...report }) => ({
        ...report,
        workflow: { ...workflow!, id: newId(T0) },
      }),
    ],
    ["no workflow", ({ workflow: _workflow, ...report }) => report],
    ["the outcome of a call", (_report, run) => aReport(run)],
  ])("reject a report of %s", async (_what, forge) => {
    const run = await planned();
    const forged = forge(aWorkflowReport(run), run);
    expect(await store.results.record([forged])).toMatchObject({
      recorded: 0,
      unknown: 1,
    });
    expect(await store.pendingRuns.get(run.result_id)).toBeDefined();
    expect(await store.workflowResults.get(run.result_id)).toBeUndefined();
    const ids = forged.results.map(({ id }) => id);
    expect(await store.results.getMany(ids)).toEqual([]);
    expect(await countOf("victim")).toEqual([]);
  });

  it("leave a call's run to a report of that call", async () => {
    const run = aRun({ target_id: newId(T0) });
    await store.pendingRuns.insert([run]);
    const other = aReport({ ...run, target_id: "victim" });
    const workflow = aWorkflowReport({ ...run, call_ids: [run.target_id] });
    expect(await store.results.record([other])).toMatchObject({ unknown: 1 });
    expect(await store.results.record([workflow])).toMatchObject({
      unknown: 1,
    });
    expect(await store.pendingRuns.get(run.result_id)).toBeDefined();
  });

  it("fold to the same statistics as a computation from the raw results", async () => {
    const runs: PendingRun[] = [];
    for (let n = 0; n < 12; n += 1) runs.push(await planned({ due_time: T0 + n * 5 * MINUTE }, 1));
    const call = newId(T0);
    const codes = ["COMPLETE", "SKIPPED", "HTTP_CLIENT_ERROR"] as const;
    const same = await Promise.all(
      runs.map(async (run) => {
        const again = aRun({ ...run, result_id: newId(T0), call_ids: null });
        const plan = { ...again, call_ids: [call, call, call] };
        await store.pendingRuns.insert([again]);
        await store.pendingRuns.plan([plan]);
        return plan;
      }),
    );
    const reports = same.map((run, n) =>
      aWorkflowReport(
        run,
        codes.map((result, at) => ({ result, total: 10 + n * 7 + at })),
      ),
    );
    await Promise.all([
      store.results.record(reports.slice(0, 8)),
      store.results.record(reports.slice(4)),
      store.results.recordUnreported(same.slice(0, 2).map(missed)),
    ]);
    await store.results.record(reports);
    for (const period of PERIOD_KINDS) {
      const query = { call_id: call, kind: period, location_id: null } as const;
      const time = periodStart(period, T0);
      const stored = await store.stats.period(query, time);
      const raw = Map.groupBy(await store.stats.rawOfPeriod(query, time), ({ result }) => result);
      expect([...stored.keys()].sort()).toEqual([...codes].sort());
      for (const [code, results] of raw) {
        const { count, mean } = summarizeResults(results);
        expect(count).toBe(12);
        expect(stored.get(code)).toMatchObject({ count });
        expect(stored.get(code)?.mean).toBeCloseTo(mean, 9);
      }
    }
  });

  it("leave nothing of a transaction that fails", async () => {
    const run = await planned();
    await expect(
      store.transaction(async (inner) => {
        await inner.results.record([aWorkflowReport(run)]);
        throw new Error("stop");
      }),
    ).rejects.toThrow("stop");
    expect(await store.workflowResults.get(run.result_id)).toBeUndefined();
    expect(await stepsOf(run)).toEqual([]);
    expect(await store.pendingRuns.get(run.result_id)).toEqual(run);
  });

  it("are listed in creation order, page by page", async () => {
    const [target_id, deployment_id] = [newId(T0), newId(T0)];
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      const due_time = T0 + n * MINUTE;
      const run = await planned({ target_id, deployment_id, due_time });
      await store.results.record([aWorkflowReport(run)]);
      ids.push(run.result_id);
    }
    const list = (after: string) =>
      store.workflowResults.listOfWorkflow(target_id, { after, limit: 2 });
    const page = await list("");
    const rest = await list(page.at(-1)?.id ?? "");
    expect([...page, ...rest].map(({ id }) => id)).toEqual(ids);
  });

  it("are latest by their start, not by their trigger", async () => {
    const deployment_id = newId(T0);
    const [early, late] = [newId(T0), newId(T0 + MINUTE)];
    const last = await planned({ deployment_id, result_id: early, due_time: T0 + 3 * MINUTE });
    const first = await planned({ deployment_id, result_id: late, due_time: T0 + 2 * MINUTE });
    const skipped = await planned({ deployment_id, due_time: T0 + 4 * MINUTE });
    await store.results.record([aWorkflowReport(last), aWorkflowReport(first)]);
    await store.results.recordUnreported([missed(skipped)]);
    const latest = await store.workflowResults.latestOfDeployment(deployment_id);
    expect(latest?.id).toBe(early);
  });

  it("wait while their deployment's previous run has no outcome", async () => {
    const far = T0 + 2000 * 24 * HOUR;
    const deployment_id = newId(T0);
    const before = await planned({ deployment_id, due_time: far });
    const next = await planned({ deployment_id, due_time: far + MINUTE });
    const other = await planned({ due_time: far + MINUTE });
    const manual = await planned({
      deployment_id: null,
      target_id: before.target_id,
      due_time: far + MINUTE,
    });
    const mine = [before, next, other, manual].map((run) => run.result_id);
    const known = (found: readonly PendingRun[]): number[] =>
      found
        .map(({ result_id }) => mine.indexOf(result_id))
        .filter((n) => n >= 0)
        .toSorted((a, b) => a - b);
    const unpublished = async () =>
      known(await store.pendingRuns.listUnpublished(far + HOUR, 10_000));
    const overlapped = async (dueBefore: number) =>
      known(await store.pendingRuns.listOverlapped(dueBefore, 10_000));

    expect(await unpublished()).toEqual([0, 1, 2, 3]);
    await store.pendingRuns.markPublished([before.result_id]);
    expect(await unpublished()).toEqual([2, 3]);
    expect(await overlapped(far + MINUTE)).toEqual([]);
    expect(await overlapped(far + MINUTE + 1)).toEqual([1]);
    await store.results.record([aWorkflowReport(before)]);
    expect(await unpublished()).toEqual([1, 2, 3]);
    expect(await overlapped(far + HOUR)).toEqual([]);
  });
});
