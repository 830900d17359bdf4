// Locks ordered runs whose outcome is about to be stored.
import type { TargetKind } from "../model/tick.ts";
import type { Database } from "./database.ts";
import { isAmong } from "./database.ts";
import type { PendingRun } from "./records.ts";

/** Locks runs that are about to get an outcome: aggregators and the reconciler take turns. */
export async function lockPending(
  database: Database,
  ids: readonly string[],
): Promise<LockedRun[]> {
  const query = database.kysely
    .selectFrom("pending_runs")
    .select(["result_id", "owner", "location_id", "target_id", "target_kind", "due_time"])
    .select("call_ids")
    .where(isAmong(database, "result_id", ids))
    .orderBy("result_id");
  const rows = await (database.rowLocks ? query.forUpdate() : query).execute();
  return rows.map(({ target_kind, call_ids, ...run }) => ({
    ...run,
    target_kind: target_kind as TargetKind,
    call_ids: call_ids === null ? null : (JSON.parse(call_ids) as string[]),
  }));
}

type LockedRun = Pick<
  PendingRun,
  "result_id" | "owner" | "location_id" | "target_id" | "target_kind" | "due_time" | "call_ids"
>;
