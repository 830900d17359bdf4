// Runs of workflows: their planned calls and their results.
import { sql } from "kysely";
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ["schedules", "pending_runs"]) {
    await db.schema
      .alterTable(table)
      .addColumn("target_kind", "text", (column) => column.notNull().defaultTo("call"))
      .execute();
    await db.schema
      .alterTable(table)
      .addColumn("between_calls_delay", "integer", (column) => column.notNull().defaultTo(0))
      .execute();
  }
  await db.schema.alterTable("pending_runs").addColumn("call_ids", "text").execute();
  await sql`create index pending_runs_workflow on pending_runs (deployment_id, due_time) where target_kind = 'workflow'`.execute(
    db,
  );

  await db.schema
    .createTable("workflow_results")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("owner", "text", (column) => column.notNull())
    .addColumn("workflow_id", "text", (column) => column.notNull())
    .addColumn("deployment_id", "text")
    .addColumn("location_id", "text", (column) => column.notNull())
    .addColumn("time", "bigint", (column) => column.notNull())
    .addColumn("result", "text", (column) => column.notNull())
    .addColumn("call_ids", "text", (column) => column.notNull())
    .addColumn("document", "text", (column) => column.notNull())
    .execute();
  await sql`create index workflow_results_workflow on workflow_results (workflow_id, id)`.execute(
    db,
  );
  await sql`create index workflow_results_deployment on workflow_results (deployment_id, id) where deployment_id is not null`.execute(
    db,
  );
}
