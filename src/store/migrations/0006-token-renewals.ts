// When the renewal of each token is due, until when a process has claimed it, and which runs wait
// for their token.
import { sql } from "kysely";
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("documents").addColumn("renewal_time", "bigint").execute();
  await db.schema.alterTable("documents").addColumn("renewal_claim", "bigint").execute();
  await db.schema
    .alterTable("pending_runs")
    .addColumn("held_back", "integer", (column) => column.notNull().defaultTo(0))
    .execute();
  await sql`update documents set renewal_time = 0 where kind = 'token'`.execute(db);
  await sql`create index documents_renewal on documents (renewal_time) where renewal_time is not null`.execute(
    db,
  );
}
