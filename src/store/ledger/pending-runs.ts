// Ordered runs without an outcome: the open side of the ledger.
import { sql } from "kysely";
import { chunksOf } from "../../model/chunks.ts";
import type { Database } from "../database.ts";
import { inIndexOrder, inTransaction, isAmong, ROWS_AT_ONCE } from "../database.ts";
import type { ExpiredRun, PendingRun, ResultPage, RunPlan, UnpublishedRun } from "../records.ts";
import { placeOnPage } from "../results/result-pages.ts";
import { toPendingRow, toPendingRun } from "./pending-rows.ts";
import { aScheduleOf } from "./schedules.ts";

export function createPendingRunStore(database: Database) {
  const rows = () => database.kysely.selectFrom("pending_runs").selectAll();
  const one = async (query: ReturnType<typeof rows>): Promise<PendingRun | undefined> => {
    const row = await query.executeTakeFirst();
    return row && toPendingRun(row);
  };
  return {
    /** Orders the runs that have neither a pending row nor an outcome, and returns them. */
    insert: (runs: readonly PendingRun[]): Promise<PendingRun[]> =>
      inTransaction(database, (transaction) => insertNew(transaction, runs)),
    get: (resultId: string) => one(rows().where("result_id", "=", resultId)),
    /** Undefined for an unpublished run. */
    getPublished: (resultId: string) =>
      one(rows().where("result_id", "=", resultId).where("published", "=", 1)),
    /** Stores the plans; a run that already has one keeps it. */
    plan: (plans: readonly RunPlan[]): Promise<void> =>
      inTransaction(database, (transaction) => storePlans(transaction, plans)),
    /**
     * Unpublished runs due before the instant, oldest first, from the one after `after` on, without
     * those that `listOverlapped` selects.
     */
    listUnpublished: (
      dueBefore: number,
      limit: number,
      after?: Pick<PendingRun, "due_time" | "result_id">,
    ): Promise<UnpublishedRun[]> =>
      inIndexOrder(database, (ordered) => unpublished(ordered, dueBefore, limit, after)),
    /**
     * Unpublished runs due before the instant, oldest first, of workflows whose earlier run by the
     * same deployment has no outcome yet, and is published or due at the same time.
     */
    listOverlapped: (dueBefore: number, limit: number): Promise<PendingRun[]> =>
      overlapped(database, dueBefore, limit),
    /** The ids of those that are neither published nor ended. */
    unpublishedAmong: (ids: readonly string[]) => unpublishedAmong(database, ids),
    markHeldBack: (resultIds: readonly string[]): Promise<void> =>
      mark(database, "held_back", resultIds),
    markPublished: (resultIds: readonly string[]): Promise<void> =>
      mark(database, "published", resultIds),
    /** For a bus that keeps nothing: all pending runs will be published again. */
    async markAllUnpublished(): Promise<void> {
      const published = database.kysely.updateTable("pending_runs").where("published", "=", 1);
      await published.set({ published: 0 }).execute();
    },
    /** Runs that expired before the instant, oldest first. */
    listExpired: (before: number, limit: number): Promise<ExpiredRun[]> =>
      expired(database, before, limit),
    /**
     * Cancels the unpublished runs of a target by a deployment, or the manual ones, due more than
     * `leadMs` after `now`: others may be on their way. Returns those that are due, to get an
     * outcome.
     */
    withdraw: (of: Withdrawn, now: number, leadMs: number): Promise<PendingRun[]> =>
      inTransaction(database, (transaction) => withdraw(transaction, of, now, leadMs)),
    remove: (resultId: string): Promise<void> => removePending(database, [resultId]),
    /** Runs of a call or a workflow. A run's time is when it is due; its code is QUEUED. */
    listOfTarget: (targetId: string, page: ResultPage): Promise<PendingRun[]> =>
      ofTarget(database, targetId, page),
  };
}

async function expired({ kysely }: Database, before: number, limit: number): Promise<ExpiredRun[]> {
  const rows = kysely.selectFrom("pending_runs").selectAll().where("expires_at", "<", before);
  const found = await rows.orderBy("expires_at").limit(limit).execute();
  return found.map((row) => ({ ...toPendingRun(row), published: row.published === 1 }));
}

type Withdrawn = Pick<PendingRun, "target_id" | "deployment_id">;

async function withdraw(
  { kysely }: Database,
  of: Withdrawn,
  now: number,
  leadMs: number,
): Promise<PendingRun[]> {
  const unpublishedOf = { ...of, published: 0 };
  await kysely
    .deleteFrom("pending_runs")
    .where((eb) => eb.and(unpublishedOf))
    .where("due_time", ">", now + leadMs)
    .execute();
  const left = kysely.selectFrom("pending_runs").selectAll();
  const due = left.where((eb) => eb.and(unpublishedOf)).where("due_time", "<=", now);
  return (await due.execute()).map(toPendingRun);
}

/**
 * A workflow's run whose deployment has an earlier run without an outcome that is published, or may
 * still start when this one is due: after a change of its delay, two may be due at once.
 */
const isOverlapped = sql<boolean>`(target_kind = 'workflow' and exists (
  select 1 from pending_runs as earlier
  where earlier.target_kind = 'workflow' and earlier.deployment_id = pending_runs.deployment_id
    and (earlier.due_time, earlier.result_id) < (pending_runs.due_time, pending_runs.result_id)
    and (earlier.published = 1 or earlier.latest_start >= pending_runs.due_time)))`;

async function ofTarget(
  { kysely }: Database,
  targetId: string,
  page: ResultPage,
): Promise<PendingRun[]> {
  const { order, limit, codes, location_id } = page;
  if (codes && !codes.includes("QUEUED")) return [];
  let runs = kysely.selectFrom("pending_runs").selectAll().where("target_id", "=", targetId);
  for (const condition of placeOnPage(page, { id: "result_id", time: "due_time" }))
    runs = runs.where(condition);
  if (location_id !== undefined) runs = runs.where("location_id", "=", location_id);
  return (await runs.orderBy("result_id", order).limit(limit).execute()).map(toPendingRun);
}

async function overlapped(
  { kysely }: Database,
  dueBefore: number,
  limit: number,
): Promise<PendingRun[]> {
  const rows = kysely.selectFrom("pending_runs").selectAll().where("published", "=", 0);
  const due = rows.where("due_time", "<", dueBefore).where(isOverlapped);
  return (await due.orderBy("due_time").limit(limit).execute()).map(toPendingRun);
}

async function unpublishedAmong(database: Database, ids: readonly string[]): Promise<string[]> {
  const rows = database.kysely.selectFrom("pending_runs").select("result_id");
  const isOne = isAmong(database, "result_id", ids);
  return idsOf(await rows.where("published", "=", 0).where(isOne).execute());
}

async function unpublished(
  { kysely }: Database,
  dueBefore: number,
  limit: number,
  after?: Pick<PendingRun, "due_time" | "result_id">,
): Promise<UnpublishedRun[]> {
  let rows = kysely
    .selectFrom("pending_runs")
    .selectAll()
    .select((eb) => aScheduleOf(eb).as("schedule"))
    .where("published", "=", 0)
    .where("due_time", "<", dueBefore)
    .where((eb) => eb.not(isOverlapped));
  if (after)
    rows = rows.where((eb) =>
      eb(eb.refTuple("due_time", "result_id"), ">", eb.tuple(after.due_time, after.result_id)),
    );
  const found = await rows.orderBy("due_time").orderBy("result_id").limit(limit).execute();
  return found.map((row) => ({
    ...toPendingRun(row),
    held_back: row.held_back === 1,
    is_deleted: row.trigger === "SCHEDULE" && row.schedule === null,
  }));
}

async function insertNew(database: Database, runs: readonly PendingRun[]): Promise<PendingRun[]> {
  const inserted: PendingRun[] = [];
  for (const chunk of chunksOf(runs, ROWS_AT_ONCE)) {
    const ended = await withOutcome(database, idsOf(chunk));
    const open = chunk.filter((run) => !ended.has(run.result_id));
    if (open.length === 0) continue;
    const rows = await database.kysely
      .insertInto("pending_runs")
      .values(open.map(toPendingRow))
      .onConflict((conflict) => conflict.column("result_id").doNothing())
      .returning("result_id")
      .execute();
    const fresh = new Set(idsOf(rows));
    for (const id of await removeEnded(database, [...fresh])) fresh.delete(id);
    inserted.push(...open.filter((run) => fresh.has(run.result_id)));
  }
  return inserted;
}

/** An outcome stored between check and insert has closed the run: it must not reopen. */
async function removeEnded(
  database: Database,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (!database.rowLocks || ids.length === 0) return new Set();
  const ended = await withOutcome(database, ids);
  if (ended.size > 0) await removePending(database, [...ended]);
  return ended;
}

async function withOutcome(
  database: Database,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const { kysely } = database;
  const isOne = isAmong(database, "id", ids);
  const rows = await kysely
    .selectFrom("results")
    .select("id")
    .where(isOne)
    .unionAll(kysely.selectFrom("workflow_results").select("id").where(isOne))
    .execute();
  return new Set(rows.map(({ id }) => id));
}

async function storePlans({ kysely }: Database, plans: readonly RunPlan[]): Promise<void> {
  for (const { result_id, call_ids, expires_at } of plans)
    await kysely
      .updateTable("pending_runs")
      .set({ call_ids: JSON.stringify(call_ids), expires_at })
      .where("result_id", "=", result_id)
      .where("call_ids", "is", null)
      .execute();
}

async function mark(
  database: Database,
  flag: "published" | "held_back",
  resultIds: readonly string[],
): Promise<void> {
  if (resultIds.length === 0) return;
  // Reports on the same runs may arrive meanwhile, and lock them in another order.
  await inTransaction(database, ({ kysely }) =>
    kysely
      .updateTable("pending_runs")
      .set({ [flag]: 1 })
      .where(isAmong(database, "result_id", resultIds))
      .execute(),
  );
}

export async function removePending(database: Database, ids: readonly string[]): Promise<void> {
  const pending = database.kysely.deleteFrom("pending_runs");
  await pending.where(isAmong(database, "result_id", ids)).execute();
}

const idsOf = (rows: readonly { readonly result_id: string }[]): string[] =>
  rows.map(({ result_id }) => result_id);
