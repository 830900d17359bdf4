// Adds what each owner has, an index of pending manual runs, and when a token's endpoint was last
// asked.
import { sql } from "kysely";
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("owner_usage")
    .addColumn("owner", "text", (column) => column.notNull())
    .addColumn("owner_org", "text", (column) => column.notNull())
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("objects", "bigint", (column) => column.notNull())
    .addColumn("bytes", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("owner_usage_key", ["owner", "owner_org", "kind"])
    .execute();
  await sql`insert into owner_usage (owner, owner_org, kind, objects, bytes)
    select owner, coalesce(owner_org, ''), kind, count(*), sum(octet_length(document))
    from documents group by owner, coalesce(owner_org, ''), kind`.execute(db);
  await sql`create index pending_runs_manual on pending_runs (owner, owner_org)
    where trigger = 'MANUAL'`.execute(db);
  await db.schema.alterTable("documents").addColumn("renewal_asked", "bigint").execute();
}
