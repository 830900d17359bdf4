// Removes schedules whose deployment is gone. Earlier versions could leave one behind, which ran
// forever and kept its location from being removed.
import { sql } from "kysely";
import type { Kysely } from "kysely";

const FOR_EVER = sql.lit(Number.MAX_SAFE_INTEGER);

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    delete from schedules where active_until = ${FOR_EVER} and not exists (
      select 1 from documents where documents.id = schedules.deployment_id
    )`.execute(db);
  await sql`
    delete from new_schedules where not exists (
      select 1 from schedules where schedules.deployment_id = new_schedules.deployment_id
        and schedules.active_from = new_schedules.active_from
    )`.execute(db);
}
