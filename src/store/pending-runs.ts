// Runs that were ordered and have no outcome yet: the open side of the ledger.
import type { Selectable } from "kysely";
import type { Trigger } from "../model/tick.ts";
import type { Database } from "./database.ts";
import { chunksOf, inTransaction } from "./database.ts";
import type { Schema } from "./schema.ts";
import type { PendingRun, PendingRunStore } from "./ports/run-store.ts";

type Row = Selectable<Schema["pending_runs"]>;

export function createPendingRunStore(database: Database): PendingRunStore {
  const { kysely } = database;
  const rows = () => kysely.selectFrom("pending_runs").selectAll();

  return {
    insert: (runs) =>
      inTransaction(database, (transaction) => insertNew(transaction, runs)),
    async get(resultId) {
      const row = await rows()
        .where("result_id", "=", resultId)
        .executeTakeFirst();
      return row && toPendingRun(row);
    },
    async listUnpublished(dueBefore, limit) {
      const found = await rows()
        .where("published", "=", 0)
        .where("due_time", "<", dueBefore)
        .orderBy("due_time")
        .limit(limit)
        .execute();
      return found.map(toPendingRun);
    },
    async markPublished(resultIds) {
      for (const ids of chunksOf(resultIds))
        await kysely
          .updateTable("pending_runs")
          .set({ published: 1 })
          .where("result_id", "in", ids)
          .execute();
    },
    async markAllUnpublished() {
      await kysely
        .updateTable("pending_runs")
        .set({ published: 0 })
        .where("published", "=", 1)
        .execute();
    },
    async listExpired(before, limit) {
      const found = await rows()
        .where("expires_at", "<", before)
        .orderBy("expires_at")
        .limit(limit)
        .execute();
      return found.map((row) => ({
        ...toPendingRun(row),
        published: row.published === 1,
      }));
    },
    async remove(resultId) {
      await kysely
        .deleteFrom("pending_runs")
        .where("result_id", "=", resultId)
        .execute();
    },
    async listOfCall(callId, { after, limit }) {
      const found = await rows()
        .where("target_id", "=", callId)
        .where("result_id", ">", after)
        .orderBy("result_id")
        .limit(limit)
        .execute();
      return found.map(toPendingRun);
    },
  };
}

async function insertNew(
  { kysely }: Database,
  runs: readonly PendingRun[],
): Promise<PendingRun[]> {
  const inserted: PendingRun[] = [];
  for (const chunk of chunksOf(runs)) {
    const ids = chunk.map((run) => run.result_id);
    const done = await kysely
      .selectFrom("results")
      .select("id")
      .where("id", "in", ids)
      .execute();
    const finished = new Set(done.map(({ id }) => id));
    const open = chunk.filter((run) => !finished.has(run.result_id));
    if (open.length === 0) continue;
    const rows = await kysely
      .insertInto("pending_runs")
      .values(open.map(toRow))
      .onConflict((conflict) => conflict.column("result_id").doNothing())
      .returning("result_id")
      .execute();
    const fresh = new Set(rows.map(({ result_id }) => result_id));
    inserted.push(...open.filter((run) => fresh.has(run.result_id)));
  }
  return inserted;
}

const toRow = ({ context, ...run }: PendingRun): Row => ({
  ...run,
  context: JSON.stringify(context),
  published: 0,
});

export const toPendingRun = ({
  published: _published,
  context,
  trigger,
  ...row
}: Row): PendingRun => ({
  ...row,
  trigger: trigger as Trigger,
  context: JSON.parse(context),
});
