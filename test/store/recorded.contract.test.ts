// Recently recorded results, in the order of the commits, on both databases.
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { RECORDED_FROM_START } from "../../src/model/recorded.ts";
import type { RecordedBatch, RecordedPlace } from "../../src/model/recorded.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import type { Store } from "../../src/store/store.ts";
import { aReport, aRun, aWorkflowReport } from "../support/runs.ts";
import type { Outcome } from "../support/runs.ts";
import { connect, createTestDatabase, storeKinds } from "../support/stores.ts";
import type { TestDatabase } from "../support/stores.ts";

const HOUR = 3_600_000;

/** Orders a run and records its outcome. */
async function record(store: Store, target_id: string, outcome: Outcome = {}): Promise<string> {
  const run = aRun({ target_id, due_time: outcome.start ?? systemClock.now() });
  await store.pendingRuns.insert([run]);
  await store.results.record([aReport(run, outcome)]);
  return run.result_id;
}

/** Records an outcome in a transaction that stays open until `commit`. */
async function recordSlowly(database: TestDatabase) {
  const store = await database.open();
  const committing = Promise.withResolvers<void>();
  const recorded = Promise.withResolvers<string>();
  const transaction = store.transaction(async (within) => {
    recorded.resolve(await record(within, "slow"));
    await committing.promise;
  });
  return {
    result_id: await Promise.race([recorded.promise, transaction.then(() => "")]),
    async commit() {
      committing.resolve();
      await transaction;
    },
  };
}

/** Waits for this many batches: on PostgreSQL, transactions of other tests may delay them. */
async function batchesAfter(
  store: Store,
  place: RecordedPlace,
  count: number,
): Promise<readonly RecordedBatch[]> {
  await expect.poll(() => store.recorded.after(place, 100)).toHaveLength(count);
  return store.recorded.after(place, 100);
}

const idsIn = (batches: readonly RecordedBatch[]): string[] =>
  batches.flatMap(({ outcomes }) => outcomes.map(({ result_id }) => result_id));

describe.each(storeKinds)("what was recorded on %s", (kind) => {
  it("is a row for each transaction, with its outcomes", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open();
    const due_time = systemClock.now();
    const runs = ["a", "b"].map((target_id) => aRun({ target_id, due_time }));
    const workflow = aRun({
      target_id: "w",
      target_kind: "workflow",
      call_ids: ["a", "b"],
      due_time,
    });
    await store.pendingRuns.insert([...runs, workflow]);
    await store.results.record([
      ...runs.map((run, n) => aReport(run, n === 0 ? {} : { result: "CONNECTION_ERROR" })),
      aWorkflowReport(workflow),
    ]);
    const [batch] = await batchesAfter(store, RECORDED_FROM_START, 1);
    expect(batch?.outcomes).toHaveLength(5);
    expect(batch?.outcomes).toContainEqual({
      result_id: runs[0]?.result_id,
      call_id: "a",
      workflow_id: null,
      workflow_result_id: null,
      location_id: "local",
      deployment_id: "deployment",
      result: "COMPLETE",
      time: due_time,
      latency: 120,
      is_late: false,
    });
    expect(batch?.outcomes).toContainEqual(
      expect.objectContaining({
        result_id: workflow.result_id,
        call_id: null,
        workflow_id: "w",
        workflow_result_id: workflow.result_id,
      }),
    );
    expect(await store.recorded.last()).toEqual(batch?.place);
    expect(await store.recorded.find(batch?.place.seq ?? 0)).toEqual(batch);
  });

  it("is several rows for a large transaction, which stores while other work runs", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open();
    const due_time = systemClock.now();
    const runs = Array.from({ length: 1001 }, () => aRun({ due_time }));
    await store.pendingRuns.insert(runs);
    let isStored = false;
    let turns = 0;
    const turn = (): void => {
      turns += 1;
      if (!isStored) setImmediate(turn);
    };
    setImmediate(turn);
    await store.results.record(runs.map((run) => aReport(run)));
    isStored = true;
    expect(turns).toBeGreaterThan(5);
    const batches = await batchesAfter(store, RECORDED_FROM_START, 2);
    expect(batches.map(({ outcomes }) => outcomes.length)).toEqual([1000, 1]);
    expect(idsIn(batches).toSorted()).toEqual(runs.map(({ result_id }) => result_id).toSorted());
  });

  it("includes a MISSED run and its late result, but no duplicate", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open();
    const run = aRun({ due_time: systemClock.now() });
    await store.pendingRuns.insert([run]);
    await store.results.recordUnreported([{ run, result: "MISSED", message: "too late" }]);
    const report = aReport(run);
    await store.results.record([report]);
    await store.results.record([report]);
    const found = await batchesAfter(store, RECORDED_FROM_START, 2);
    expect(found.flatMap(({ outcomes }) => outcomes.map(({ result }) => result))).toEqual([
      "MISSED",
      "COMPLETE",
    ]);
  });

  it("excludes imported history", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open();
    await record(store, "a", { start: systemClock.now() - 25 * HOUR });
    expect(await store.recorded.last()).toBeUndefined();
  });

  it("keeps the newest row when pruned, and finds no removed one", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open();
    const ids = [await record(store, "a"), await record(store, "a"), await record(store, "a")];
    await store.recorded.prune(60_000);
    const found = await batchesAfter(store, RECORDED_FROM_START, 3);
    expect(idsIn(found)).toEqual(ids);
    const [first] = found;
    await store.recorded.prune(0);
    expect(idsIn(await batchesAfter(store, RECORDED_FROM_START, 1))).toEqual(ids.slice(2));
    expect(await store.recorded.find(first?.place.seq ?? 0)).toBeUndefined();
  });

  it("has a start until its first row is pruned", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open();
    const start = { place: RECORDED_FROM_START, outcomes: [] };
    expect(await store.recorded.find(0)).toEqual(start);
    await record(store, "a");
    await record(store, "a");
    await batchesAfter(store, RECORDED_FROM_START, 2);
    expect(await store.recorded.find(0)).toEqual(start);
    await store.recorded.prune(0);
    await batchesAfter(store, RECORDED_FROM_START, 1);
    expect(await store.recorded.find(0)).toBeUndefined();
  });

  it.runIf(kind === "postgres")("is pruned after a restore to another server too", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open();
    const ids = [await record(store, "a"), await record(store, "a")];
    const found = await batchesAfter(store, RECORDED_FROM_START, 2);
    await using kysely = connect(database).kysely;
    // The server that made the dump was further in its numbers of transactions.
    const beforeRestore = found[0]?.place.seq;
    await sql`update recorded set xact = '4000000000' where seq = ${beforeRestore}`.execute(kysely);
    await store.recorded.prune(0);
    const { rows } = await sql`select seq from recorded`.execute(kysely);
    expect(rows).toEqual([{ seq: found[1]?.place.seq }]);
    expect(idsIn(await batchesAfter(store, RECORDED_FROM_START, 1))).toEqual(ids.slice(1));
  });

  it.runIf(kind === "postgres")("is never missed by a reader when a commit is late", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open();
    const before = await record(store, "a");
    const [read] = await batchesAfter(store, RECORDED_FROM_START, 1);
    expect(idsIn([read as RecordedBatch])).toEqual([before]);
    const slow = await recordSlowly(database);
    const second = await record(store, "fast");
    // The fast one waits for the slow one: otherwise it would come before a place already read.
    const place = (read as RecordedBatch).place;
    expect(await store.recorded.after(place, 10)).toEqual([]);
    await store.recorded.prune(0);
    await slow.commit();
    expect(idsIn(await batchesAfter(store, place, 2))).toEqual([slow.result_id, second]);
  });
});
