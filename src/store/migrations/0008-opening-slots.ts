// Adds how far each slot is open and which schedules are new. Indexes unpublished runs in the order
// of their pages, and the runs of a workflow's deployment in the order in which they started.
import { sql } from "kysely";
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("opening_slots")
    .addColumn("slot", "bigint", (column) => column.notNull())
    .addColumn("late", "integer", (column) => column.notNull())
    .addColumn("opened", "bigint", (column) => column.notNull())
    .addColumn("slot_key", "integer", (column) => column.notNull())
    .addColumn("run_delay", "integer", (column) => column.notNull())
    .addColumn("deployment_id", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("opening_slots_key", ["slot", "late"])
    .execute();

  await db.schema
    .createTable("new_schedules")
    .addColumn("deployment_id", "text", (column) => column.notNull())
    .addColumn("active_from", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("new_schedules_key", ["deployment_id", "active_from"])
    .execute();

  await sql`drop index schedules_slot`.execute(db);
  await sql`create index schedules_slot on schedules (slot_key, run_delay, deployment_id)`.execute(
    db,
  );
  await sql`drop index pending_runs_unpublished`.execute(db);
  await sql`create index pending_runs_unpublished on pending_runs (due_time, result_id) where published = 0`.execute(
    db,
  );

  await sql`drop index workflow_results_deployment`.execute(db);
  await sql`create index workflow_results_deployment on workflow_results (deployment_id, time) where deployment_id is not null`.execute(
    db,
  );
}
