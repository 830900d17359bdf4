// Forgets the agents seen so far, whose ids contain the names of their machines. Running agents
// reappear with their next heartbeat.
import { sql } from "kysely";
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`delete from agents`.execute(db);
}
