// When tokens are to be looked at for their renewal, and until when a process has one that it renews.
import { sql } from "kysely";
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable("documents")
    .addColumn("renewal_time", "bigint")
    .execute();
  await db.schema
    .alterTable("documents")
    .addColumn("renewal_claim", "bigint")
    .execute();
  await sql`update documents set renewal_time = 0 where kind = 'token'`.execute(
    db,
  );
  await sql`create index documents_renewal on documents (renewal_time) where renewal_time is not null`.execute(
    db,
  );
}
