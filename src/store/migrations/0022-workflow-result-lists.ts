// Indexes the runs of a workflow by time, and by outcome in creation order. Each index has all that
// lists filter by, so that only the runs on a page are read.
import { sql } from "kysely";
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [name, columns] of [
    ["workflow_results_time", "workflow_id, time, location_id, result, id"],
    ["workflow_results_list", "workflow_id, result, id, location_id, time"],
  ])
    await sql.raw(`create index ${name} on workflow_results (${columns})`).execute(db);
}
