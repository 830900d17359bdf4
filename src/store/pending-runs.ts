// Runs that were ordered and have no outcome yet: the open side of the ledger.
import type { ExpressionBuilder, Selectable } from "kysely";
import type { TargetKind, Trigger } from "../model/tick.ts";
import type { Database } from "./database.ts";
import { chunksOf, inTransaction } from "./database.ts";
import type { Schema } from "./schema.ts";
import type { PendingRun, PendingRunStore } from "./ports/run-store.ts";

type Row = Selectable<Schema["pending_runs"]>;

export function createPendingRunStore(database: Database): PendingRunStore {
  const { kysely } = database;
  const rows = () => kysely.selectFrom("pending_runs").selectAll();

  return {
    insert: (runs) => inTransaction(database, (transaction) => insertNew(transaction, runs)),
    async get(resultId) {
      const row = await rows().where("result_id", "=", resultId).executeTakeFirst();
      return row && toPendingRun(row);
    },
    async listUnpublished(dueBefore, limit, after) {
      const unpublished = rows()
        .where("published", "=", 0)
        .where("due_time", "<", dueBefore)
        .where((eb) => eb.not(isOverlapped(eb)));
      const rest = after
        ? unpublished.where((eb) =>
            eb(
              eb.refTuple("due_time", "result_id"),
              ">",
              eb.tuple(after.due_time, after.result_id),
            ),
          )
        : unpublished;
      const found = await rest.orderBy("due_time").orderBy("result_id").limit(limit).execute();
      return found.map((row) => ({
        ...toPendingRun(row),
        held_back: row.held_back === 1,
      }));
    },
    async listOverlapped(dueBefore, limit) {
      const found = await rows()
        .where("published", "=", 0)
        .where("due_time", "<", dueBefore)
        .where(isOverlapped)
        .orderBy("due_time")
        .limit(limit)
        .execute();
      return found.map(toPendingRun);
    },
    plan: (plans) =>
      inTransaction(database, async (transaction) => {
        for (const { result_id, call_ids, expires_at } of plans)
          await transaction.kysely
            .updateTable("pending_runs")
            .set({ call_ids: JSON.stringify(call_ids), expires_at })
            .where("result_id", "=", result_id)
            .where("call_ids", "is", null)
            .execute();
      }),
    async markHeldBack(resultIds) {
      for (const ids of chunksOf(resultIds))
        await kysely
          .updateTable("pending_runs")
          .set({ held_back: 1 })
          .where("result_id", "in", ids)
          .where("held_back", "=", 0)
          .execute();
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
      await kysely.deleteFrom("pending_runs").where("result_id", "=", resultId).execute();
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

/** A run of a workflow, of whose deployment an earlier run is under way. */
const isOverlapped = (eb: ExpressionBuilder<Schema, "pending_runs">) =>
  eb.and([
    eb("target_kind", "=", "workflow"),
    eb.exists(
      eb
        .selectFrom("pending_runs as earlier")
        .select("earlier.result_id")
        .whereRef("earlier.deployment_id", "=", "pending_runs.deployment_id")
        .whereRef("earlier.due_time", "<", "pending_runs.due_time")
        .where("earlier.target_kind", "=", "workflow")
        .where("earlier.published", "=", 1),
    ),
  ]);

async function insertNew(database: Database, runs: readonly PendingRun[]): Promise<PendingRun[]> {
  const inserted: PendingRun[] = [];
  for (const chunk of chunksOf(runs)) {
    const ended = await withOutcome(database, idsOf(chunk));
    const open = chunk.filter((run) => !ended.has(run.result_id));
    if (open.length === 0) continue;
    const rows = await database.kysely
      .insertInto("pending_runs")
      .values(open.map(toRow))
      .onConflict((conflict) => conflict.column("result_id").doNothing())
      .returning("result_id")
      .execute();
    const fresh = new Set(idsOf(rows));
    for (const id of await removeEnded(database, [...fresh])) fresh.delete(id);
    inserted.push(...open.filter((run) => fresh.has(run.result_id)));
  }
  return inserted;
}

/**
 * An outcome that was stored between the look for it and the insert has removed the run: it must
 * not be open again.
 */
async function removeEnded(
  database: Database,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (!database.rowLocks || ids.length === 0) return new Set();
  const ended = await withOutcome(database, ids);
  if (ended.size > 0)
    await database.kysely
      .deleteFrom("pending_runs")
      .where("result_id", "in", [...ended])
      .execute();
  return ended;
}

async function withOutcome(
  { kysely }: Database,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await kysely
    .selectFrom("results")
    .select("id")
    .where("id", "in", ids)
    .unionAll(kysely.selectFrom("workflow_results").select("id").where("id", "in", ids))
    .execute();
  return new Set(rows.map(({ id }) => id));
}

const idsOf = (rows: readonly { readonly result_id: string }[]): string[] =>
  rows.map(({ result_id }) => result_id);

const toRow = ({ context, call_ids, ...run }: PendingRun): Row => ({
  ...run,
  context: JSON.stringify(context),
  call_ids: call_ids && JSON.stringify(call_ids),
  published: 0,
  held_back: 0,
});

export const toPendingRun = ({
  published: _published,
  held_back: _heldBack,
  context,
  trigger,
  target_kind,
  call_ids,
  ...row
}: Row): PendingRun => ({
  ...row,
  target_kind: target_kind as TargetKind,
  call_ids: call_ids === null ? null : (JSON.parse(call_ids) as string[]),
  trigger: trigger as Trigger,
  context: JSON.parse(context),
});
