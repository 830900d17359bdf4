// Lists that are read while a late result replaces a MISSED one.
import { describe, expect, it } from "vitest";
import { newId } from "../../src/runtime/ids.ts";
import type { Database } from "../../src/store/database.ts";
import { createResultStore, createWorkflowResultStore } from "../../src/store/ledger/results.ts";
import type { PendingRun } from "../../src/store/records.ts";
import { createStatStore } from "../../src/store/stats/stats.ts";
import { aReport, aRun, aWorkflowReport, T0 } from "../support/runs.ts";
import { connectInterrupted, sharedStore, storeKinds } from "../support/stores.ts";

const HOUR = 3_600_000;
const PAGE = { after: "", limit: 2, codes: ["MISSED"] } as const;

describe.each(storeKinds)("of MISSED results, read while one is replaced, on %s", (kind) => {
  const { database, store } = sharedStore(kind);

  /** Records three runs, an hour apart, as MISSED. */
  async function missed(change: Partial<PendingRun> = {}): Promise<PendingRun[]> {
    const target_id = newId(T0);
    const runs = [0, 1, 2].map((hours) =>
      aRun({ target_id, due_time: T0 + hours * HOUR, ...change }),
    );
    await store.pendingRuns.insert(runs);
    await store.results.recordUnreported(
      runs.map((run) => ({ run, result: "MISSED", message: "late" })),
    );
    return runs;
  }

  /** Reads with a late report recorded between the query that finds `value` and the next one. */
  async function reading<T>(
    value: string | number,
    report: ReturnType<typeof aReport>,
    read: (interrupted: Database) => Promise<T>,
  ): Promise<T> {
    const interrupted = connectInterrupted(database, value, () => store.results.record([report]));
    try {
      return await read(interrupted);
    } finally {
      await interrupted.kysely.destroy();
    }
  }

  it("a page of periods has none without such a result, and is full", async () => {
    const [first] = await missed();
    const { target_id: call_id } = first!;
    const query = { call_id, kind: "HOUR", location_id: null } as const;
    const periods = await reading(T0, aReport(first!), (interrupted) =>
      createStatStore(interrupted).periods(query, ["MISSED"], T0, "forwards", 2),
    );
    expect(periods.map(({ time }) => (time - T0) / HOUR)).toEqual([1, 2]);
  });

  it("a page of a call's results has no other, and is full", async () => {
    const [first, ...others] = await missed();
    const results = await reading(first!.result_id, aReport(first!), (interrupted) =>
      createResultStore(interrupted).listOfCall(first!.target_id, PAGE),
    );
    expect(results.map(({ id }) => id)).toEqual(others.map(({ result_id }) => result_id));
  });

  it("a page of a workflow's results has no other, and is full", async () => {
    const [first, ...others] = await missed({ target_kind: "workflow", call_ids: [newId(T0)] });
    const results = await reading(first!.result_id, aWorkflowReport(first!), (interrupted) =>
      createWorkflowResultStore(interrupted).listOfWorkflow(first!.target_id, PAGE),
    );
    expect(results.map(({ id }) => id)).toEqual(others.map(({ result_id }) => result_id));
  });
});
