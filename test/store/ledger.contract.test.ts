import { QueryNode, SelectQueryNode, sql } from "kysely";
import type { KyselyPlugin } from "kysely";
import { Client } from "pg";
import { describe, expect, it } from "vitest";
import { periodStart, PERIOD_KINDS } from "../../src/model/periods.ts";
import { MADE_CODES, RESULT_CODES, runReportValidator } from "../../src/model/result.ts";
import type { ReportedResult, ResultCode } from "../../src/model/result.ts";
import type { Workflow } from "../../src/model/workflow.ts";
import { newId } from "../../src/runtime/ids.ts";
import { chunksOf } from "../../src/model/chunks.ts";
import type { Database } from "../../src/store/database.ts";
import { createPendingRunStore } from "../../src/store/ledger/pending-runs.ts";
import type { PendingRun, ResultPage } from "../../src/store/records.ts";
import { groupedQuery, groupsOf, timedQuery } from "../../src/store/results/result-pages.ts";
import { rawQuery } from "../../src/store/stats/stats.ts";
import type { Store } from "../../src/store/store.ts";
import { aCall, aReport, aRun, aWorkflow, T0 } from "../support/runs.ts";
import { connect, createTestDatabase, planOf, sharedStore, storeKinds } from "../support/stores.ts";
import type { TestDatabase } from "../support/stores.ts";

const HOUR = 3_600_000;

describe.each(storeKinds)("the ledger on %s", (kind) => {
  const { database, store } = sharedStore(kind);

  // A SQLite file belongs to one process, with one connection.
  const openOthers = (count: number): Promise<Store[]> =>
    Promise.all(
      Array.from({ length: count }, async () => (kind === "sqlite" ? store : database.open())),
    );
  const aCallId = (): string => newId(T0);
  const ordered = async (...runs: ReturnType<typeof aRun>[]) => {
    await store.pendingRuns.insert(runs);
    return runs;
  };
  const hour = (call_id: string) =>
    store.stats.period({ call_id, kind: "HOUR", location_id: null }, T0);

  it("opens a run once, however often it is ordered", async () => {
    const run = aRun({ target_id: aCallId() });
    expect(await store.pendingRuns.insert([run])).toEqual([run]);
    expect(await store.pendingRuns.insert([run])).toEqual([]);
    expect(await store.pendingRuns.get(run.result_id)).toEqual(run);
  });

  it("cancels the unpublished runs of a target by one deployment or by hand, but none that agents may have", async () => {
    const [target_id, now, lead] = [aCallId(), T0, 15_000];
    const [one, manual] = ["one", null].map((deployment_id) =>
      [0, 1, lead, lead + 1, lead + 2].map((ms) =>
        aRun({ target_id, deployment_id, due_time: now + ms }),
      ),
    ) as [PendingRun[], PendingRun[]];
    const other = aRun({ target_id, deployment_id: "other", due_time: now + lead + 1 });
    await ordered(
      ...one,
      ...manual,
      other,
      aRun({ deployment_id: "one", due_time: now + lead + 1 }),
    );
    await store.pendingRuns.markPublished([one[4]!.result_id]);
    const left = async () => {
      const runs = await store.pendingRuns.listOfTarget(target_id, { after: "", limit: 20 });
      return new Set(runs.map(({ result_id }) => result_id));
    };
    const ids = (...runs: readonly (PendingRun | undefined)[]) =>
      new Set(runs.map((run) => run!.result_id));
    const withdraw = (deployment_id: string | null) =>
      store.pendingRuns.withdraw({ target_id, deployment_id }, now, lead);
    expect(await withdraw("one")).toEqual([one[0]]);
    const kept = [...one.slice(0, 3), one[4], other];
    expect(await left()).toEqual(ids(...kept, ...manual));
    expect(await withdraw(null)).toEqual([manual[0]]);
    expect(await left()).toEqual(ids(...kept, ...manual.slice(0, 3)));
  });

  it("stores a result with fields of a newer agent", async () => {
    const [run] = await ordered(aRun({ target_id: aCallId() }));
    const report = aReport(run!);
    const results = report.results.map((result) => {
      const timing = { ...result.timing, queued: 0.1 };
      return { ...result, meta: { ...result.meta, retries: 1 }, timing, trace: [] };
    });
    await store.results.record([{ ...report, results }]);
    expect(await store.results.get(run!.result_id)).toEqual(report.results[0]);
    expect((await hour(run!.target_id)).get("COMPLETE")?.phases.tcp).toEqual({
      count: 1,
      sum: 1500,
    });
  });

  it("stores a result of an earlier agent, which reports no uncertainty", async () => {
    const [run] = await ordered(aRun({ target_id: aCallId() }));
    const { results, ...report } = aReport(run!);
    const [{ timing, ...result }] = results as [ReportedResult];
    const { uncertainty: _, ...earlier } = timing;
    const hop = { url: result.meta.url, http_code: 302, dest_ip: null, timing: earlier };
    const reported = { ...result, timing: earlier, hops: [hop] };
    expect(runReportValidator.accepts({ ...report, results: [reported] })).toBe(true);
    await store.results.record([{ ...report, results: [reported] }]);
    const stored = await store.results.get(run!.result_id);
    expect(stored?.timing).toEqual({ ...earlier, uncertainty: null });
    expect(stored?.hops[0]?.timing.uncertainty).toBeNull();
  });

  it("stores a message that quotes any character, and the time of an agent that was paused", async () => {
    const [run] = await ordered(aRun({ target_id: aCallId() }));
    const report = aReport(run!, { total: 3_600_000.5, timing: { processing: 3_599_999.125 } });
    for (const { meta } of report.results) meta.message = "\0 'ü\ud800' \\ {\"a\"}";
    await store.results.record([report]);
    const stored = await store.results.get(run!.result_id);
    expect(stored?.meta.message).toBe("\ufffd 'ü\ufffd' \\ {\"a\"}");
    expect(stored?.timing).toMatchObject({ total: 3_600_000.5, processing: 3_599_999.125 });
  });

  it("does not reopen a run that has an outcome", async () => {
    const [run] = await ordered(aRun({ target_id: aCallId() }));
    await store.results.record([aReport(run!)]);
    expect(await store.pendingRuns.insert([run!])).toEqual([]);
    expect(await store.pendingRuns.get(run!.result_id)).toBeUndefined();
  });

  it("does not reopen a run whose outcome is being stored concurrently", async () => {
    const [run] = await ordered(aRun({ target_id: aCallId() }));
    const [stored, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const recording = store.transaction(async (inner) => {
      await inner.results.record([aReport(run!)]);
      stored.resolve();
      await release.promise;
    });
    await stored.promise;
    const inserting = store.pendingRuns.insert([run!]);
    await queryBlocked(database);
    release.resolve();
    await recording;
    expect(await inserting).toEqual([]);
    expect(await store.pendingRuns.get(run!.result_id)).toBeUndefined();
  });

  it("keeps the body of a response with its result, and out of every list", async () => {
    const target_id = aCallId();
    const [run, other] = await ordered(
      aRun({ target_id }),
      aRun({ target_id, due_time: T0 + 60_000 }),
    );
    const content = {
      content_type: "text/plain",
      encoding: "utf-8",
      size: 7,
      content: "grüße",
      reason: null,
    };
    const report = aReport(run!);
    const results = report.results.map((result) => ({ ...result, content }));
    await store.results.record([{ ...report, results }, aReport(other!)]);
    expect(await store.results.content(run!.result_id)).toEqual(content);
    expect(await store.results.content(other!.result_id)).toBeUndefined();
    const listed = await store.results.listOfCall(target_id, {
      after: "",
      limit: 10,
    });
    expect(listed).toEqual([...report.results, ...aReport(other!).results]);
    expect(await store.results.get(run!.result_id)).toEqual(report.results[0]);
  });

  it("keeps the body of a response that arrives after its run was MISSED", async () => {
    const [run] = await ordered(aRun({ target_id: aCallId() }));
    const content = {
      content_type: null,
      encoding: null,
      size: 40_000,
      content: null,
      reason: "too_large" as const,
    };
    await store.results.record([aReport(run!, { result: "MISSED" })]);
    const report = aReport(run!);
    const results = report.results.map((result) => ({ ...result, content }));
    await store.results.record([{ ...report, results }]);
    expect(await store.results.content(run!.result_id)).toEqual(content);
  });

  it("stores a result once and counts it once, however often it arrives", async () => {
    const [run] = await ordered(aRun({ target_id: aCallId() }));
    const report = aReport(run!, { total: 80.4 });
    expect(await store.results.record([report, report])).toEqual({
      recorded: 1,
      late: 0,
      duplicate: 1,
      unknown: 0,
    });
    expect(await store.results.record([report])).toEqual({
      recorded: 0,
      late: 0,
      duplicate: 1,
      unknown: 0,
    });
    expect(await store.results.get(run!.result_id)).toEqual(report.results[0]);
    expect(await store.pendingRuns.get(run!.result_id)).toBeUndefined();
    const summary = (await hour(run!.target_id)).get("COMPLETE");
    expect(summary).toMatchObject({
      count: 1,
      min: 80,
      max: 80,
      mean: 80,
      phases: { tcp: { count: 1, sum: 1500 } },
    });
  });

  it("stores no result of a run that was not ordered, or from another location's agent", async () => {
    const [run] = await ordered(aRun({ target_id: aCallId() }));
    const forged = aReport(run!, { location_id: "elsewhere" });
    expect(await store.results.record([aReport(aRun()), forged])).toMatchObject({
      recorded: 0,
      unknown: 2,
    });
    expect(await store.results.get(run!.result_id)).toBeUndefined();
    expect(await store.pendingRuns.get(run!.result_id)).toBeDefined();
    expect((await hour(run!.target_id)).size).toBe(0);
  });

  it("records the request of a run without a report, with credentials masked", async () => {
    const call = aCall({ url: "https://target.test/{{path}}?api_key=hush&q=%%Q%%" });
    const workflow = aWorkflow([call.id]);
    await store.documents.insert(call);
    await store.documents.insert(workflow);
    const runs = await ordered(
      ...[call.id, call.id, "gone"].map((target_id) => aRun({ target_id })),
      aRun({ target_id: workflow.id, target_kind: "workflow" }),
    );
    await store.results.recordUnreported([
      { run: runs[0]!, result: "MISSED", message: "too late" },
      ...runs.slice(1).map((run) => ({ run, result: "UNABLE_TO_RUN", message: "no" }) as const),
    ]);
    await store.documents.remove("call", call.id);
    const url = "https://target.test/{{path}}?api_key=********&q=%%Q%%";
    for (const { result_id } of runs.slice(0, 2))
      expect(await store.results.get(result_id)).toMatchObject({
        meta: { call_id: call.id, domain: "target.test", url, http_code: null },
        request: { url, method: "GET", headers: [], body: null },
        response: null,
      });
    expect(await store.results.get(runs[2]!.result_id)).toMatchObject({
      meta: { domain: "", url: "" },
      request: null,
    });
    const { meta } = workflow.document as Workflow;
    expect((await store.workflowResults.get(runs[3]!.result_id))?.meta.name).toBe(meta.name);
  });

  it("records MISSED with its reason, and lets a late result replace it in every period", async () => {
    const [run] = await ordered(aRun({ target_id: aCallId() }));
    const missed = {
      run: run!,
      result: "MISSED",
      message: "no agent answered",
    } as const;
    expect(await store.results.recordUnreported([missed])).toBe(1);
    expect(await store.results.recordUnreported([missed])).toBe(0);
    expect((await store.results.get(run!.result_id))?.meta).toMatchObject({
      result: "MISSED",
      message: "no agent answered",
      start_time: null,
    });
    expect((await hour(run!.target_id)).get("MISSED")?.count).toBe(1);

    const late = aReport(run!, { start: T0 + 2 * HOUR });
    expect(await store.results.record([late])).toEqual({
      recorded: 1,
      late: 1,
      duplicate: 0,
      unknown: 0,
    });
    expect(await store.results.record([late])).toMatchObject({
      recorded: 0,
      duplicate: 1,
    });
    expect((await hour(run!.target_id)).size).toBe(0);
    for (const period of PERIOD_KINDS) {
      const query = {
        call_id: run!.target_id,
        kind: period,
        location_id: "local",
      };
      const summaries = await store.stats.period(query, periodStart(period, T0 + 2 * HOUR));
      expect([...summaries].map(([code, { count }]) => [code, count])).toEqual([["COMPLETE", 1]]);
    }
  });

  it("keeps a result when the run is then reported missed", async () => {
    const [run] = await ordered(aRun({ target_id: aCallId() }));
    await store.results.record([aReport(run!)]);
    expect(
      await store.results.recordUnreported([{ run: run!, result: "MISSED", message: "too late" }]),
    ).toBe(0);
    expect(await store.results.record([aReport(run!, { result: "MISSED" })])).toMatchObject({
      recorded: 0,
      duplicate: 1,
    });
    expect((await store.results.get(run!.result_id))?.meta.result).toBe("COMPLETE");
  });

  it("keeps a late result when others report the run while it is being stored", async () => {
    const [run] = await ordered(aRun({ target_id: aCallId() }));
    const missed = { run: run!, result: "MISSED", message: "no agent answered" } as const;
    await store.results.recordUnreported([missed]);
    const [stored, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const recording = store.transaction(async (inner) => {
      await inner.results.record([aReport(run!)]);
      stored.resolve();
      await release.promise;
    });
    await stored.promise;
    const again = store.results.record([aReport(run!)]);
    const stale = store.results.recordUnreported([missed]);
    await queryBlocked(database, 2);
    release.resolve();
    await recording;
    expect(await again).toEqual({ recorded: 0, late: 0, duplicate: 1, unknown: 0 });
    expect(await stale).toBe(0);
    expect((await store.results.get(run!.result_id))?.meta.result).toBe("COMPLETE");
    const counts = [...(await hour(run!.target_id))].map(([code, { count }]) => [code, count]);
    expect(counts).toEqual([["COMPLETE", 1]]);
  });

  it("keeps a result when the same batch reports the run missed", async () => {
    const [run] = await ordered(aRun({ target_id: aCallId() }));
    const missed = aReport(run!, { result: "MISSED" });
    expect(await store.results.record([aReport(run!), missed])).toMatchObject({
      recorded: 1,
      duplicate: 1,
    });
    expect((await store.results.get(run!.result_id))?.meta.result).toBe("COMPLETE");
  });

  it.each([
    ["start_time", "0001-01-01T00:00:00Z"],
    ["start_time", "9999-12-31T23:59:59-23:00"],
    ["end_time", "2027-10-01T00:00:00Z"],
    ["due_time", "2026-09-01T00:00:00Z"],
    ["trigger_time", "2026-09-01T00:00:00Z"],
  ] as const)("rejects a report whose %s is %s, far from its run", async (name, time) => {
    const [run] = await ordered(aRun({ target_id: aCallId() }));
    const report = aReport(run!);
    const forged = report.results.map((result) => ({
      ...result,
      meta: { ...result.meta, [name]: time },
    }));
    expect(await store.results.record([{ ...report, results: forged }])).toEqual({
      recorded: 0,
      late: 0,
      duplicate: 0,
      unknown: 1,
    });
    expect(await store.results.get(run!.result_id)).toBeUndefined();
    expect(await store.results.record([report])).toMatchObject({ recorded: 1 });
  });

  it("keeps a result when the same batch has a report of its run from elsewhere", async () => {
    const [run] = await ordered(aRun({ target_id: aCallId() }));
    const forged = aReport(run!, { location_id: "elsewhere", result: "HTTP_SERVER_ERROR" });
    expect(await store.results.record([aReport(run!), forged])).toEqual({
      recorded: 1,
      late: 0,
      duplicate: 0,
      unknown: 1,
    });
    expect((await store.results.get(run!.result_id))?.meta.result).toBe("COMPLETE");
  });

  it("counts each result once when several aggregators store the same and overlapping reports concurrently", async () => {
    const call = aCallId();
    const runs = await ordered(
      ...Array.from({ length: 60 }, (_, n) => aRun({ target_id: call, due_time: T0 + n })),
    );
    const reports = runs.map((run) => aReport(run));
    const others = await openOthers(2);
    const recorded = await Promise.all(
      [store, ...others].map(async ({ results }, n) => {
        const [some, same] = await Promise.all([
          results.record(reports.slice(n * 10)),
          results.record(reports.slice(0, 60 - n * 10).toReversed()),
          results.recordUnreported(
            runs.slice(0, 5).map((run) => ({ run, result: "MISSED", message: "late" }) as const),
          ),
        ]);
        return some.recorded + same.recorded;
      }),
    );
    expect(recorded.reduce((sum, count) => sum + count, 0)).toBe(60);
    const summaries = await hour(call);
    expect(summaries.get("COMPLETE")?.count).toBe(60);
    expect([...summaries.keys()]).toEqual(["COMPLETE"]);
    expect(await store.pendingRuns.listOfTarget(call, { after: "", limit: 100 })).toEqual([]);
  });

  it("counts concurrent results while the last MISSED of their period is replaced", async () => {
    const target_id = aCallId();
    const [replaced, ...others] = await ordered(
      ...[0, 1, 2].map((n) => aRun({ target_id, due_time: T0 + n })),
    );
    const missed = (run: ReturnType<typeof aRun>) =>
      [{ run, result: "MISSED", message: "late" }] as const;
    await store.results.recordUnreported(missed(replaced!));
    await using month = await lockMonth(database, target_id);
    const replacing = store.results.record([aReport(replaced!)]);
    await queryBlocked(database);
    const recording = others.map((run) => store.results.recordUnreported(missed(run)));
    await queryBlocked(database, 1 + others.length);
    await month.release();
    await replacing;
    expect(await Promise.all(recording)).toEqual([1, 1]);
    expect((await hour(target_id)).get("MISSED")?.count).toBe(2);
  });

  it("leaves nothing of a transaction that fails", async () => {
    const [run, other] = await ordered(
      aRun({ target_id: aCallId() }),
      aRun({ target_id: aCallId() }),
    );
    await expect(
      store.transaction(async (inner) => {
        await inner.results.record([aReport(run!)]);
        throw new Error("stop");
      }),
    ).rejects.toThrow("stop");
    expect(await store.results.get(run!.result_id)).toBeUndefined();
    expect(await store.pendingRuns.get(run!.result_id)).toBeDefined();
    expect((await hour(run!.target_id)).size).toBe(0);
    // The numbers that it gave to new names now go to others.
    await store.results.record([aReport(other!)]);
    await store.results.record([aReport(run!)]);
    for (const { result_id, target_id } of [run!, other!]) {
      expect((await store.results.get(result_id))?.meta.call_id).toBe(target_id);
      expect((await hour(target_id)).get("COMPLETE")?.count).toBe(1);
    }
  });

  it.runIf(kind === "postgres")(
    "gives a name another number if a new server lacks it",
    async () => {
      await using servers = await createTestDatabase(kind);
      const own = await servers.open();
      const target_id = aCallId();
      const [before, after] = [T0, T0 + 1].map((due_time) => aRun({ target_id, due_time }));
      await own.pendingRuns.insert([before!, after!]);
      await own.results.record([aReport(before!)]);
      // Like a failover to a standby that did not receive the last commit.
      const server = connect(servers);
      await server.kysely.deleteFrom("names").where("name", "=", target_id).execute();
      await sql`select pg_terminate_backend(pid, 10000) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`.execute(server.kysely);
      await server.kysely.destroy();
      const isBack = () => own.now().then(Boolean, () => false);
      await expect.poll(isBack).toBe(true);
      await own.results.record([aReport(after!)]);
      const listed = await own.results.listOfCall(target_id, { after: "", limit: 10 });
      expect(listed.map(({ id }) => id)).toEqual([after!.result_id]);
    },
  );

  it("lists results of a call in creation order, page by page", async () => {
    const call = aCallId();
    const runs = await ordered(
      ...Array.from({ length: 5 }, (_, n) => aRun({ target_id: call, due_time: T0 + n * 60_000 })),
    );
    await store.results.record(runs.toReversed().map((run) => aReport(run)));
    const first = await store.results.listOfCall(call, { after: "", limit: 3 });
    const rest = await store.results.listOfCall(call, {
      after: first.at(-1)!.id,
      limit: 3,
    });
    expect([...first, ...rest].map(({ id }) => id)).toEqual(runs.map(({ result_id }) => result_id));
  });

  it.each<[string, Partial<ResultPage>, string]>([
    ["all results", {}, "results_list"],
    ["one location", { location_id: "far" }, "results_list"],
    ["one result", { codes: ["CONNECTION_ERROR"] }, "results_list"],
    ["the newest of one result", { codes: ["CONNECTION_ERROR"], order: "desc" }, "results_list"],
    ["an hour", { from: T0 + HOUR, to: T0 + 2 * HOUR }, "results_time"],
    ["one result of an hour", { from: T0 + HOUR, codes: ["CONNECTION_ERROR"] }, "results_time"],
    ["one location in an hour", { from: T0 + HOUR, location_id: "far" }, "results_time"],
  ])("lists %s by an index, among many others", async (_, filter, index) => {
    const raw = connect(database);
    const call = aCallId();
    const [common, rare] = await ordered(
      aRun({ target_id: call }),
      aRun({ target_id: call, location_id: "far" }),
    );
    await store.results.record([
      aReport(common!),
      aReport(rare!, { result: "CONNECTION_ERROR", start: T0 + HOUR }),
    ]);
    await copyResult(raw, common!.result_id, 3000);
    await (kind === "postgres" ? sql`analyze` : sql`select 1`).execute(raw.kysely);
    const page = { after: "", limit: 10, ...filter };
    const isTimed = kind === "sqlite" && index === "results_time";
    const query = isTimed
      ? timedQuery(raw, call, page)
      : groupedQuery(raw, await groupsOf(raw, call, page), page);
    // On PostgreSQL, an index has another name in the partition that has these rows.
    const lists = /results_list|results_default_call_location_result_id/;
    expect(await planOf(raw, query)).toMatch(isTimed ? /results_time/ : lists);
    const listed = await store.results.listOfCall(call, page);
    const ids = listed.map(({ id }) => id);
    if (Object.keys(filter).length > 0) expect(ids).toEqual([rare!.result_id]);
    else expect([ids.length, ids.includes(rare!.result_id)]).toEqual([page.limit, true]);
    await raw.kysely.destroy();
  });

  it("lists the results of more groups than one query takes", async () => {
    const call = aCallId();
    const locations = Array.from({ length: 101 }, (_, n) => `at-${n}`);
    const runs = await ordered(
      ...locations.map((location_id) => aRun({ target_id: call, location_id })),
    );
    await store.results.record(runs.map((run) => aReport(run)));
    const ids = runs.map(({ result_id }) => result_id).toSorted();
    const list = async (page: Partial<ResultPage>) =>
      (await store.results.listOfCall(call, { after: "", limit: 60, ...page })).map(({ id }) => id);
    expect(await list({})).toEqual(ids.slice(0, 60));
    expect(await list({ after: ids[59]! })).toEqual(ids.slice(60));
    expect(await list({ order: "desc" })).toEqual(ids.toReversed().slice(0, 60));
  });

  it("finds periods and single results from an instant, in both directions", async () => {
    const call = aCallId();
    const runs = await ordered(
      ...[0, 1, 3, 5].map((hours) => aRun({ target_id: call, due_time: T0 + hours * HOUR })),
    );
    await store.results.record(
      runs.map((run, n) => aReport(run, { result: n === 1 ? "HTTP_CLIENT_ERROR" : "COMPLETE" })),
    );
    const query = { call_id: call, kind: "HOUR", location_id: null } as const;
    const hours = (rows: { readonly time: number }[]): number[] =>
      rows.map(({ time }) => (time - T0) / HOUR);

    expect(hours(await store.stats.periods(query, MADE_CODES, T0 + HOUR, "forwards", 10))).toEqual([
      1, 3, 5,
    ]);
    expect(
      hours(await store.stats.periods(query, MADE_CODES, T0 + 3 * HOUR, "backwards", 2)),
    ).toEqual([3, 1]);
    expect(
      hours(await store.stats.periods(query, ["COMPLETE"], T0 - HOUR, "forwards", 10)),
    ).toEqual([0, 3, 5]);
    expect(
      hours(
        await store.stats.raw(
          query,
          RESULT_CODES,
          { time: T0 + HOUR, afterId: null },
          "forwards",
          10,
        ),
      ),
    ).toEqual([1, 3, 5]);
    expect(
      hours(
        await store.stats.raw(
          query,
          RESULT_CODES,
          { time: T0 + HOUR, afterId: runs[1]!.result_id },
          "forwards",
          10,
        ),
      ),
    ).toEqual([3, 5]);
    expect(
      hours(
        await store.stats.raw(
          query,
          RESULT_CODES,
          { time: T0 + 9 * HOUR, afterId: null },
          "backwards",
          2,
        ),
      ),
    ).toEqual([5, 3]);
  });

  it("searches for a code or a location only in hours that count it", async () => {
    const raw = connect(database);
    const call = aCallId();
    const [common, rare, again] = await ordered(
      ...[0, 5, 900].map((hours) => aRun({ target_id: call, due_time: T0 + hours * HOUR })),
    );
    await store.results.record([
      aReport(common!),
      ...[rare!, again!].map((run) => aReport(run, { result: "CONNECTION_ERROR" })),
    ]);
    const { id: _, ...columns } = await raw.kysely
      .selectFrom("results")
      .selectAll()
      .where("id", "=", rare!.result_id)
      .executeTakeFirstOrThrow();
    const uncounted = { ...columns, id: newId(T0), time: T0 + 7 * HOUR };
    await raw.kysely.insertInto("results").values(uncounted).execute();
    const find = async (
      codes: readonly ResultCode[],
      location_id: string | null,
      direction: "forwards" | "backwards",
      time: number,
    ) =>
      (
        await store.stats.raw(
          { call_id: call, location_id },
          codes,
          { time, afterId: null },
          direction,
          2,
        )
      ).map(({ id }) => id);
    const [first, second] = [rare!.result_id, again!.result_id];
    const late = T0 + 1000 * HOUR;
    expect(await find(["CONNECTION_ERROR"], null, "forwards", T0)).toEqual([first, second]);
    expect(await find(["CONNECTION_ERROR"], null, "backwards", late)).toEqual([second, first]);
    expect(await find(MADE_CODES, rare!.location_id, "backwards", late)).toEqual([second, first]);
    expect(await find(MADE_CODES, "far", "forwards", T0)).toEqual([]);
    const range = { time: T0, afterId: null, start: T0 + 5 * HOUR, end: T0 + 6 * HOUR };
    const of = { call_id: call, location_id: null };
    const query = rawQuery(raw, of, ["CONNECTION_ERROR"], range, "forwards", 2);
    const { sql: text, parameters } = query.compile();
    // With two lower bounds, SQLite would seek by the first and read everything up to the other.
    expect(text.match(/"time" >= /g)).toHaveLength(1);
    expect(parameters).toContain(T0 + 5 * HOUR);
    const plan = await planOf(raw, query);
    if (kind === "sqlite") expect(plan).toMatch(/results_time .*time>\? AND time<\?/);
    await raw.kysely.destroy();
  });

  it.runIf(kind === "postgres")("reads a page of a large beat without sorting it all", async () => {
    const due_time = T0 + 2000 * 24 * HOUR;
    await ordered(...Array.from({ length: 10_000 }, () => aRun({ due_time })));
    const raw = connect(database);
    const plans: unknown[] = [];
    const kysely = raw.kysely.withPlugin(explaining(plans));
    const { listUnpublished } = createPendingRunStore({ ...raw, kysely });
    await listUnpublished(due_time + 1, 9, { due_time, result_id: "" });
    expect(JSON.stringify(plans)).toContain("pending_runs_unpublished");
    expect(JSON.stringify(plans)).not.toContain("Sort");
    await raw.kysely.destroy();
  });

  it("lists unpublished and expired runs, oldest first", async () => {
    const far = T0 + 1000 * 24 * HOUR;
    const runs = await ordered(
      ...[2, 1, 3].map((n) => aRun({ due_time: far - n * HOUR, target_id: aCallId() })),
    );
    const mine = (found: { readonly result_id: string }[]): number[] =>
      found
        .flatMap(({ result_id }) => runs.findIndex((run) => run.result_id === result_id))
        .filter((n) => n >= 0);
    expect(mine(await store.pendingRuns.listUnpublished(far, 10_000))).toEqual([2, 0, 1]);
    await store.pendingRuns.markHeldBack([runs[1]!.result_id]);
    const heldBack = (await store.pendingRuns.listUnpublished(far, 10_000)).filter(
      ({ held_back }) => held_back,
    );
    expect(mine(heldBack)).toEqual([1]);
    await store.pendingRuns.markPublished([runs[0]!.result_id]);
    expect(mine(await store.pendingRuns.listUnpublished(far, 10_000))).toEqual([2, 1]);
    expect(mine(await store.pendingRuns.listExpired(runs[0]!.expires_at + 1, 10_000))).toEqual([
      2, 0,
    ]);
    await store.pendingRuns.markAllUnpublished();
    expect(mine(await store.pendingRuns.listUnpublished(far, 10_000))).toEqual([2, 0, 1]);
  });
});

/** Explains selects instead of executing them, and returns no rows. */
const explaining = (plans: unknown[]): KyselyPlugin => ({
  transformQuery: ({ node }) =>
    SelectQueryNode.is(node) ? QueryNode.cloneWithExplain(node, undefined, undefined) : node,
  async transformResult({ result }) {
    if (!result.rows[0] || !("QUERY PLAN" in result.rows[0])) return result;
    plans.push(result.rows);
    return { ...result, rows: [] };
  },
});

/** Stores a result many times under other ids. */
async function copyResult({ kysely, rowLocks }: Database, id: string, times: number) {
  const { id: _, ...columns } = await kysely
    .selectFrom("results")
    .selectAll()
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  const rows = Array.from({ length: times }, () => ({ ...columns, id: newId(T0) }));
  for (const chunk of chunksOf(rows, rowLocks ? 500 : 50))
    await kysely.insertInto("results").values(chunk).execute();
}

/** Blocks every fold into the call's month, once the rows of its other periods are locked. */
async function lockMonth({ location }: TestDatabase, callId: string) {
  const client = "url" in location ? new Client(location.url) : undefined;
  await client?.connect();
  await client?.query("begin");
  const number = (name: string): string => `(select id from names where name = ${name})`;
  await client?.query(
    `select from stats where call = ${number("$1")} and kind = ${number("'MONTH'")} for update`,
    [callId],
  );
  return {
    release: async () => void (await client?.query("commit")),
    async [Symbol.asyncDispose]() {
      await client?.end();
    },
  };
}

/**
 * Resolves when queries wait for a lock. The embedded database has one connection, so nothing waits
 * there.
 */
async function queryBlocked({ location }: TestDatabase, count = 1): Promise<void> {
  if (!("url" in location)) return;
  const client = new Client(location.url);
  await client.connect();
  try {
    await expect
      .poll(
        async () => {
          const { rowCount } = await client.query(
            "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
          );
          return rowCount;
        },
        { timeout: 10_000, interval: 20 },
      )
      .toBeGreaterThanOrEqual(count);
  } finally {
    await client.end();
  }
}
