import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { removeExpired } from "../../src/aggregator/retention.ts";
import type { RemovalOptions, RemovedKind } from "../../src/aggregator/retention.ts";
import { PERIOD_KINDS } from "../../src/model/periods.ts";
import type { RunReport } from "../../src/model/result.ts";
import { advancedStatOf, statOf } from "../../src/model/stat.ts";
import { newId, scheduledRunId, stepIds } from "../../src/runtime/ids.ts";
import type { PendingRun } from "../../src/store/records.ts";
import { INSIGHTS_LEASE } from "../../src/model/insight.ts";
import type { Store } from "../../src/store/store.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { aReport, aRun, aWorkflowReport, insertKey } from "../support/runs.ts";
import { createTestDatabase, storeKinds } from "../support/stores.ts";
import type { TestDatabase } from "../support/stores.ts";

const [HOUR, DAY] = [3_600_000, 86_400_000];
const NOW = Date.parse("2026-11-22T13:00:00Z");
/**
 * With 90 days of retention, keeps results that started then or later, and those whose ids are at
 * most two days older.
 */
const KEPT = Date.parse("2026-08-24T00:00:00Z");
const START = { time: 0, afterId: null };
const DAYS = { details: 14, raw: 90, hours: 400, audit: 400 };

describe.each(storeKinds)("retention on %s", (kind) => {
  let database: TestDatabase;
  let store: Store;
  beforeEach(async () => {
    database = await createTestDatabase(kind);
    store = await database.open(createManualClock(NOW));
  });
  afterEach(() => database[Symbol.asyncDispose]());

  /** Records runs as the aggregator does, with details. */
  const record = async (...runs: readonly PendingRun[]): Promise<RunReport[]> => {
    await store.pendingRuns.insert(runs);
    const reports = runs.map((run) => withDetails(aReport(run, { total: run.due_time % 97 })));
    await store.results.record(reports);
    return reports;
  };
  /** Settles the store as if every insights report had been made. */
  const settleInsights = async (until = NOW): Promise<void> => {
    const lease = await store.leases.acquire(INSIGHTS_LEASE, "test", NOW, 1);
    await store.leases.advance(lease!, until);
    for (const stale of await store.insights.listStale(NOW, undefined, 10_000))
      await store.insights.settle(stale, "keep");
  };
  const remove = async (change: Partial<RemovalOptions> = {}) => {
    const removed: RemovedKind[] = [];
    const outcome = await removeExpired({
      store,
      clock: createManualClock(NOW),
      days: DAYS,
      holder: "test",
      signal: new AbortController().signal,
      onRemoved: (each) => removed.push(each),
      ...change,
    });
    return { outcome, removed, rows: Object.fromEntries(removed.map((r) => [r.kind, r.rows])) };
  };
  const idsLeft = async (runs: readonly PendingRun[]) =>
    (await store.results.getMany(runs.map(({ result_id }) => result_id))).map(({ id }) => id);
  const statsAt = (call_id: string, times: readonly number[]) =>
    Promise.all(
      times.flatMap((time) =>
        PERIOD_KINDS.map(async (each) => {
          const query = { call_id, kind: each, location_id: null };
          const summaries = await store.stats.period(query, time);
          const stat = statOf(summaries, "COMPLETE", 0);
          return { time, kind: each, stat, adv: advancedStatOf(summaries, "COMPLETE") };
        }),
      ),
    );

  it("removes results and details by their settings, and no statistic", async () => {
    const ages = [300, 120, 92, 91, 60, 17, 15, 13, 1];
    const target_id = newId(NOW);
    const runs = ages.map((age) => runAt({ target_id, due_time: NOW - age * DAY }));
    await record(...runs);
    await settleInsights();
    const times = runs.map(({ due_time }) => due_time);
    const before = await statsAt(target_id, times);

    expect(await store.retention.completeSince()).toBe(0);
    const { outcome, rows } = await remove();

    expect(outcome).toBe("complete");
    expect(await store.retention.completeSince()).toBe(KEPT);
    expect(rows).toMatchObject({ details: 6, results: 2, workflow_results: 0, hours: 0 });
    const left = runs.slice(2);
    expect(await idsLeft(runs)).toEqual(left.map(({ result_id }) => result_id));
    const listed = await store.results.listOfCall(target_id, { after: "", limit: 100 });
    expect(listed.map(({ id }) => id)).toEqual(left.map(({ result_id }) => result_id));
    const withRequest = listed.filter(({ request }) => request !== null);
    expect(withRequest.map(({ id }) => id)).toEqual(runs.slice(6).map((run) => run.result_id));
    for (const [at, run] of runs.entries())
      expect((await store.results.content(run.result_id)) !== undefined).toBe(at >= 6);
    expect(await statsAt(target_id, times)).toEqual(before);
    // Hours whose results were removed lead nowhere.
    const local = { call_id: target_id, location_id: "local" };
    const first = await store.stats.raw(local, ["COMPLETE"], START, "forwards", 2);
    expect(first.map(({ id }) => id)).toEqual(left.slice(0, 2).map((run) => run.result_id));
  });

  it("lets single results be read beyond more empty hours than a page has results", async () => {
    const target_id = newId(NOW);
    // Each starts a day after it was triggered, by which results expire.
    const runs = [-4, -3, -2, -1, 1, 2].map((hour) => {
      const trigger_time = KEPT - 2 * DAY + hour * HOUR;
      const result_id = scheduledRunId(trigger_time, newId(NOW));
      return runAt({ target_id, result_id, trigger_time, due_time: trigger_time + DAY });
    });
    await record(...runs);
    await settleInsights();
    await remove();
    const left = await idsLeft(runs);
    expect(left).toEqual(runs.slice(4).map(({ result_id }) => result_id));
    const local = { call_id: target_id, location_id: "local" };
    for (const limit of [1, 2, 3]) {
      const read = await store.stats.raw(local, ["COMPLETE"], START, "forwards", limit);
      expect(read.map(({ id }) => id)).toEqual(left.slice(0, limit));
    }
  });

  it("keeps the hours of all results that stay, so that RAW statistics have them too", async () => {
    const target_id = newId(NOW);
    const runs = [-49, -47, -1, 1].map((hour) =>
      runAt({ target_id, due_time: KEPT + hour * HOUR }),
    );
    await record(...runs);
    await settleInsights();
    await remove({ days: { ...DAYS, hours: 1 } });
    const left = await idsLeft(runs);
    expect(left).toEqual(runs.slice(1).map(({ result_id }) => result_id));
    const local = { call_id: target_id, location_id: "local" };
    const read = await store.stats.raw(local, ["COMPLETE"], START, "forwards", 10);
    expect(read.map(({ id }) => id)).toEqual(left);
  });

  it("keeps a result until its days are over, however early its run was triggered", async () => {
    const expired = KEPT - 2 * DAY;
    const runs = [expired - 1, expired].map((time) => runAt({ due_time: time }));
    const late = runAt({ due_time: expired - 9 * DAY });
    await store.pendingRuns.insert([...runs, late]);
    const starts = [expired - 1, expired, KEPT];
    const reports = [...runs, late].map((run, n) => aReport(run, { start: starts[n]! }));
    await store.results.record(reports.map(withDetails));
    await settleInsights();
    expect((await remove({ days: { ...DAYS, details: 90 } })).rows).toMatchObject({
      details: 1,
      results: 1,
    });
    expect(await idsLeft([...runs, late])).toEqual([runs[1]!.result_id, late.result_id]);
    expect(await store.results.content(late.result_id)).toBeDefined();
  });

  it("removes runs of workflows with the results of their calls", async () => {
    const planned = async (due_time: number): Promise<PendingRun> => {
      const call_ids = [newId(NOW), newId(NOW)];
      const run = runAt({ target_kind: "workflow", target_id: "workflow", due_time });
      await store.pendingRuns.insert([run]);
      await store.pendingRuns.plan([{ ...run, call_ids }]);
      await store.results.record([aWorkflowReport({ ...run, call_ids })]);
      return run;
    };
    const [old, young] = [await planned(NOW - 100 * DAY), await planned(NOW - 10 * DAY)];
    await settleInsights();
    expect((await remove()).rows).toMatchObject({ workflow_results: 1, results: 2 });
    expect(await store.workflowResults.get(old.result_id)).toBeUndefined();
    expect(await store.workflowResults.get(young.result_id)).toBeDefined();
    const steps = stepIds(young.due_time, young.result_id, 2);
    expect(await store.results.getMany(steps)).toHaveLength(2);
  });

  it("removes hours and percentiles, and keeps days and months forever", async () => {
    const target_id = newId(NOW);
    const [old, young] = [NOW - 430 * DAY, NOW - 399 * DAY];
    const runs = [old, old + 1, young].map((due_time) => runAt({ target_id, due_time }));
    await record(...runs);
    await settleInsights();
    const [hour, ...others] = await statsAt(target_id, [old]);
    expect(hour?.stat).toMatchObject({ count: 2 });
    const youngBefore = await statsAt(target_id, [young]);

    await remove({ signal: AbortSignal.abort() }); // leaves everything to the next
    const first = await remove();
    expect(first.rows["hours"]).toBe(1);
    expect(first.rows["percentiles"]).toBeGreaterThan(2);
    const [hourAfter, ...othersAfter] = await statsAt(target_id, [old]);
    expect(hourAfter).toMatchObject({ stat: null, adv: null });
    expect(othersAfter.map(({ stat }) => stat)).toEqual(others.map(({ stat }) => stat));
    const p50 = Object.fromEntries(othersAfter.map((each) => [each.kind, each.adv?.p50]));
    // The year contains a month whose percentiles are gone.
    expect(p50).toEqual({ DAY: null, WEEK: null, MONTH: null, YEAR: null });
    const kept = (await statsAt(target_id, [young])).slice(0, 4);
    expect(kept).toEqual(youngBefore.slice(0, 4));

    expect((await remove()).rows).toMatchObject({ hours: 0, percentiles: 0 });
    // Longer settings do not bring back what is gone.
    await remove({ days: { ...DAYS, raw: 1000 } });
    expect(await store.retention.completeSince()).toBe(KEPT);
  });

  it("removes entries of the audit trail", async () => {
    const entry = { actor: "a", owner: null, org: null, address: null, fields: [] } as const;
    const what = { action: "create", kind: "call", object_id: "1" } as const;
    const times = [NOW - 402 * DAY, NOW - 400 * DAY, NOW - DAY];
    for (const time of times) await store.audit.record({ ...entry, ...what, time });
    expect((await remove()).rows["audit"]).toBe(1);
    const left = await store.audit.list({ limit: 10 });
    expect(left.map(({ time }) => time)).toEqual(times.slice(1));
  });

  it("removes revoked keys once the audit trail has no entry about them", async () => {
    const revoked = async (time: number): Promise<void> => {
      const { key_id } = await insertKey(store, time - 1000 * DAY);
      await store.apiKeys.revoke(key_id, null, time);
    };
    await revoked(NOW - 402 * DAY);
    await revoked(NOW - 400 * DAY);
    await remove();
    // Without any key, the next start would issue another first one.
    expect(await store.apiKeys.count()).toBe(2);
    const { key_id } = await insertKey(store, NOW - 500 * DAY);
    await remove({ dryRun: true });
    expect(await store.apiKeys.count()).toBe(3);
    await remove();
    expect(await store.apiKeys.count()).toBe(2);
    expect(await store.apiKeys.find(key_id)).toBeDefined();
  });

  it("counts in a dry run, and changes nothing", async () => {
    const ages = [500, 450, 120, 95, 20, 1];
    const runs = ages.map((age) => runAt({ due_time: NOW - age * DAY }));
    await record(...runs);
    await settleInsights();
    const dry = await remove({ dryRun: true });
    expect(await idsLeft(runs)).toHaveLength(runs.length);
    const real = await remove();
    expect(dry).toEqual(real);
    expect(real.rows).toMatchObject({ details: 5, results: 4, hours: 2 });
    const at = (age: number) => NOW - age * DAY;
    expect(real.removed.map((each) => [each.kind, each.oldestKept])).toEqual([
      ["details", at(1)],
      ["workflow_results", null],
      ["results", at(20)],
      ["hours", at(120)],
      ["percentiles", at(120) - 13 * HOUR],
      ["audit", null],
    ]);
  });

  it("names the oldest percentiles that are left after a shorter setting", async () => {
    const ages = [120, 95, 1];
    await record(...ages.map((age) => runAt({ due_time: NOW - age * DAY })));
    await settleInsights();
    const oldest = async (days: Partial<typeof DAYS>) => {
      const { removed } = await remove({ days: { ...DAYS, ...days } });
      return removed.find((each) => each.kind === "percentiles")?.oldestKept;
    };
    const midnight = NOW - 13 * HOUR;
    expect(await oldest({})).toBe(midnight - 120 * DAY);
    expect(await oldest({ hours: 100 })).toBe(midnight - 95 * DAY);
    expect(await oldest({})).toBe(midnight - 95 * DAY);
  });

  it("never counts a removed result again when it is reported again", async () => {
    const target_id = newId(NOW);
    const run = runAt({ target_id, due_time: NOW - 120 * DAY });
    const missed = runAt({ target_id, due_time: NOW - 121 * DAY });
    const reports = await record(run);
    await store.pendingRuns.insert([missed]);
    await store.results.recordUnreported([{ run: missed, result: "MISSED", message: "gone" }]);
    await settleInsights();
    await remove();
    const times = [run.due_time, missed.due_time];
    const before = await statsAt(target_id, times);
    const recorded = await store.results.record([...reports, aReport(missed)]);
    expect(recorded).toEqual({ recorded: 0, late: 0, duplicate: 0, unknown: 2 });
    expect(await statsAt(target_id, times)).toEqual(before);
    expect(await idsLeft([run, missed])).toEqual([]);
  });

  it("keeps results and statistics that insights still need", async () => {
    const target_id = newId(NOW);
    const ages = [500, 410, 120];
    const runs = ages.map((age) => runAt({ target_id, due_time: NOW - age * DAY }));
    await record(...runs);
    await settleInsights(NOW - 410 * DAY);
    expect((await remove()).rows).toMatchObject({ details: 3, results: 1, hours: 1 });
    await settleInsights();
    expect((await remove()).rows).toMatchObject({ details: 0, results: 2, hours: 1 });
  });

  it("stops between two batches, and continues from there", async () => {
    const runs = Array.from({ length: 450 }, (_, n) => runAt({ due_time: NOW - 120 * DAY + n }));
    await record(...runs);
    await settleInsights();
    const stopping = new AbortController();
    const probed = probe(store, (batches) => batches === 2 && stopping.abort());
    const stopped = await remove({ store: probed, signal: stopping.signal });
    expect(stopped.outcome).toBe("stopped");
    expect(stopped.removed).toHaveLength(1);
    const { details } = stopped.rows as { details: number };
    expect(details).toBeGreaterThan(100);
    expect(details).toBeLessThan(450);
    const rest = await remove();
    expect(rest.rows).toMatchObject({ details: 450 - details, results: 450 });
    expect(await idsLeft(runs)).toEqual([]);
  });

  it("lets results be recorded between its batches, and loses none", async () => {
    const target_id = newId(NOW);
    const old = Array.from({ length: 600 }, (_, n) =>
      runAt({ target_id, due_time: NOW - 120 * DAY + n }),
    );
    await record(...old);
    await settleInsights();
    const young: PendingRun[] = [];
    const recording: Promise<unknown>[] = [];
    const probed = probe(store, (n) => {
      const run = runAt({ target_id, due_time: NOW - n });
      young.push(run);
      recording.push(record(run));
    });
    const { rows } = await remove({ store: probed });
    await Promise.all(recording);
    expect(rows).toMatchObject({ details: 600, results: 600 });
    expect(young.length).toBeGreaterThan(6);
    expect(await idsLeft([...old, ...young])).toHaveLength(young.length);
    const query = { call_id: target_id, kind: "YEAR", location_id: null } as const;
    const year = await store.stats.period(query, NOW);
    expect(year.get("COMPLETE")?.count).toBe(600 + young.length);
  });

  it("loses no result while the clock is a year ahead for hours", async () => {
    const runs = [91, 88, 40, 1].map((age) => runAt({ due_time: NOW - age * DAY }));
    await record(...runs);
    await settleInsights(NOW + 366 * DAY);
    await remove();
    for (let hour = 1; hour <= 3; hour += 1) {
      const ahead = { ...store, now: async () => NOW + 365 * DAY + hour * HOUR };
      const dry = await remove({ store: ahead, dryRun: true });
      expect(await remove({ store: ahead })).toEqual(dry);
    }
    expect(await idsLeft(runs)).toHaveLength(4);
    expect(await store.retention.completeSince()).toBeLessThanOrEqual(KEPT + DAY);
    await remove();
    expect(await store.retention.lastCountedFrom()).toBe(NOW);
  });

  it("stops once another process has taken its lease", async () => {
    const runs = Array.from({ length: 450 }, (_, n) => runAt({ due_time: NOW - 120 * DAY + n }));
    await record(...runs);
    await settleInsights();
    const clock = createManualClock(NOW);
    const probed = probe(store, async (batches) => {
      if (batches > 1) return;
      await clock.advance(10_000);
      await store.leases.acquire("retention", "other", NOW + 60_000, 30_000);
    });
    expect((await remove({ store: probed, clock })).outcome).toBe("stopped");
    expect(await idsLeft(runs)).toHaveLength(450);
  });

  it("runs in one process at a time", async () => {
    const run = runAt({ due_time: NOW - 120 * DAY });
    await record(run);
    await settleInsights();
    const lease = await store.leases.acquire("retention", "other", NOW, 60_000);
    expect(await remove()).toMatchObject({ outcome: "held elsewhere", removed: [] });
    expect(await idsLeft([run])).toHaveLength(1);
    await store.leases.release(lease!);
    expect(await remove()).toMatchObject({ outcome: "complete" });
    expect(await idsLeft([run])).toEqual([]);
  });
});

/** Returns a run triggered at `due_time`, as its id says. */
const runAt = (change: Partial<PendingRun> & { readonly due_time: number }): PendingRun =>
  aRun({ result_id: scheduledRunId(change.due_time, newId(NOW)), ...change });

const withDetails = (report: RunReport): RunReport => ({
  ...report,
  results: report.results.map((result) => ({
    ...result,
    request: { url: "https://target.test/", method: "GET", headers: [], body: null },
    content: { content_type: null, encoding: null, size: 2, content: "ok", reason: null },
  })),
});

/** Calls `onBatch` with the number of batches so far, after each batch. */
function probe(store: Store, onBatch: (batches: number) => unknown): Store {
  let batches = 0;
  const { retention } = store;
  return {
    ...store,
    retention: {
      ...retention,
      async remove(kind, batch) {
        const removed = await retention.remove(kind, batch);
        await onBatch((batches += 1));
        return removed;
      },
    },
  };
}
