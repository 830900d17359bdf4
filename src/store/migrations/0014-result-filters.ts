// Indexes a call's results by location and outcome, in creation order. One index serves all lists,
// since every result pays for each index: src/store/results/result-pages.ts merges the groups.
import { sql } from "kysely";
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index results_list on results (call, location, result, id)`.execute(db);
  await sql`drop index results_call`.execute(db);
}
