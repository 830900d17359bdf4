// The master keys in use, the audit trail, and the answers kept for repeated requests.
import { sql } from "kysely";
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("master_keys")
    .addColumn("key_id", "text", (column) => column.primaryKey())
    .addColumn("sealed_check", "text", (column) => column.notNull())
    .execute();

  await db.schema
    .createTable("audit")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("time", "bigint", (column) => column.notNull())
    .addColumn("actor", "text", (column) => column.notNull())
    .addColumn("owner", "text")
    .addColumn("address", "text")
    .addColumn("action", "text", (column) => column.notNull())
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("object_id", "text", (column) => column.notNull())
    .addColumn("fields", "text", (column) => column.notNull())
    .execute();
  await sql`create index audit_time on audit (time, id)`.execute(db);
  await sql`create index audit_owner on audit (owner, time, id)`.execute(db);

  await db.schema
    .createTable("kept_answers")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("created", "bigint", (column) => column.notNull())
    .addColumn("sealed", "text", (column) => column.notNull())
    .execute();
  await sql`create index kept_answers_created on kept_answers (created)`.execute(db);
}
