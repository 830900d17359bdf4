// Lists of the results of a workflow: what the filters let through, and by which index.
import { sql } from "kysely";
import type { RawBuilder } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseInstant } from "../../src/model/instant.ts";
import type { WorkflowResult } from "../../src/model/result.ts";
import { newId } from "../../src/runtime/ids.ts";
import { chunksOf } from "../../src/model/chunks.ts";
import type { Database } from "../../src/store/database.ts";
import type { PendingRun, ResultPage } from "../../src/store/records.ts";
import { orderedQuery, timedQuery } from "../../src/store/results/workflow-result-pages.ts";
import { aRun, aWorkflowReport, T0 } from "../support/runs.ts";
import { connect, planOf, sharedStore, storeKinds } from "../support/stores.ts";

const MINUTE = 60_000;
const ALL = { after: "", limit: 100 };
const ORDERS = ["asc", "desc"] as const;

type Filter = Pick<ResultPage, "codes" | "location_id" | "from" | "to">;

describe.each(storeKinds)("the results of a workflow on %s", (kind) => {
  const { database, store } = sharedStore(kind);
  let raw: Database;
  beforeAll(() => {
    raw = connect(database);
  });
  afterAll(() => raw.kysely.destroy());

  const ordered = async (change: Partial<PendingRun>): Promise<PendingRun> => {
    const run = aRun({ target_kind: "workflow", deployment_id: newId(T0), ...change });
    await store.pendingRuns.insert([run]);
    const plan = { ...run, call_ids: [newId(T0)] };
    await store.pendingRuns.plan([plan]);
    return plan;
  };
  const idsOf = async (query: RawBuilder<{ id: string }>): Promise<string[]> =>
    (await query.execute(raw.kysely)).rows.map(({ id }) => id);

  it.each<Filter>([
    {},
    { location_id: "far" },
    { codes: ["COMPLETE", "MISSED"] },
    { codes: ["HTTP_SERVER_ERROR"], location_id: "far" },
    { from: T0 + 3 * MINUTE },
    { from: T0 + 2 * MINUTE, to: T0 + 9 * MINUTE, location_id: "local" },
    { to: T0 + 8 * MINUTE, codes: ["COMPLETE"] },
  ])("are those that match %j, page by page, in both orders", async (filter) => {
    const target_id = newId(T0);
    for (let n = 0; n < 12; n += 1) {
      const run = await ordered({
        target_id,
        result_id: newId(T0 + n),
        due_time: T0 + ((n * 5) % 12) * MINUTE, // not in the order of the ids
        location_id: n % 2 === 0 ? "far" : "local",
      });
      const missed = { run, result: "MISSED", message: "no agent answered" } as const;
      const result = n % 3 === 0 ? "HTTP_SERVER_ERROR" : "COMPLETE";
      if (n % 5 === 4) await store.results.recordUnreported([missed]);
      else await store.results.record([aWorkflowReport(run, [{ result }])]);
    }
    const list = (page: Partial<ResultPage>) =>
      store.workflowResults.listOfWorkflow(target_id, { ...ALL, ...page });
    const matching = (await list({})).filter((result) => matches(filter, result));
    expect(matching.length).toBeGreaterThan(1);
    for (const order of ORDERS) {
      const wanted = order === "asc" ? matching : matching.toReversed();
      const found: WorkflowResult[] = [];
      for (let more = true; more;) {
        const after = found.at(-1)?.id ?? "";
        const results = await list({ ...filter, order, after, limit: 3 });
        found.push(...results);
        more = results.length === 3;
      }
      expect(found).toEqual(wanted);
      const page = { ...ALL, ...filter, order };
      for (const query of [timedQuery(raw, target_id, page), orderedQuery(target_id, page)])
        expect(await idsOf(query)).toEqual(wanted.map(({ id }) => id));
    }
    expect(await list({ ...filter, codes: [] })).toEqual([]);
  });

  it("are listed by an index, among many others", async () => {
    const run = await ordered({ target_id: newId(T0) });
    await store.results.record([aWorkflowReport(run)]);
    await copyResult(raw, run.result_id, 3000);
    if (kind === "postgres") await sql`analyze`.execute(raw.kysely);
    const hour = { from: T0 + 60 * MINUTE, to: T0 + 120 * MINUTE };
    for (const order of ORDERS)
      for (const filter of [{}, { codes: ["MISSED"] }, { location_id: "far" }] satisfies Filter[]) {
        const page = { after: "", limit: 10, order, ...filter };
        for (const range of [{}, { from: T0 }])
          expect(await planOf(raw, orderedQuery(run.target_id, { ...page, ...range }))).toMatch(
            "workflow_results_list",
          );
        const timed = timedQuery(raw, run.target_id, { ...page, ...hour });
        expect(await planOf(raw, timed)).toMatch("workflow_results_time");
      }
  });
});

function matches({ codes, location_id, from, to }: Filter, { meta }: WorkflowResult): boolean {
  const time = parseInstant(meta.start_time ?? meta.due_time) as number;
  return (
    (codes?.includes(meta.result) ?? true) &&
    [undefined, meta.location_id].includes(location_id) &&
    time >= (from ?? 0) &&
    time < (to ?? Infinity)
  );
}

/** Stores a result many times under other ids, a minute apart. */
async function copyResult({ kysely }: Database, id: string, times: number): Promise<void> {
  const stored = kysely.selectFrom("workflow_results").selectAll().where("id", "=", id);
  const result = await stored.executeTakeFirstOrThrow();
  const rows = Array.from({ length: times }, (_, n) => ({
    ...result,
    id: newId(T0),
    time: T0 + n * MINUTE,
  }));
  for (const chunk of chunksOf(rows, 100))
    await kysely.insertInto("workflow_results").values(chunk).execute();
}
