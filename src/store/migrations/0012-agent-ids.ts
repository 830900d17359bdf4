// Forgets the agents seen so far, whose ids have the names of their machines. Those that run are
// seen again with their next heartbeat.
import { sql } from "kysely";
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`delete from agents`.execute(db);
}
