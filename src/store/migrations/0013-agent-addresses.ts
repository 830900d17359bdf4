// When each agent was first seen, and the address that it calls from.
import { sql } from "kysely";
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable("agents")
    .addColumn("created", "bigint", (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .alterTable("agents")
    .addColumn("remote_addr", "text", (column) => column.notNull().defaultTo(""))
    .execute();
  // The earliest time that is known.
  await sql`update agents set created = last_seen`.execute(db);
}
