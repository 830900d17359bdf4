// Lists of a call's results of one type, or of one location, in creation order.
import { sql } from "kysely";
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index results_type on results (call, result, id)`.execute(db);
  await sql`create index results_location on results (call, location, id)`.execute(db);
}
