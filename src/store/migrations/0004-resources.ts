// Indexes for workflows, Authentication Settings, Tokens, Reports and variables.
import { sql } from "kysely";
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ["token_id", "workspace", "name"])
    await db.schema.alterTable("documents").addColumn(column, "text").execute();
  await sql`create index documents_token on documents (kind, token_id, id) where token_id is not null`.execute(
    db,
  );
  await sql`create unique index documents_variable on documents (workspace, name) where workspace is not null`.execute(
    db,
  );

  await db.schema
    .createTable("document_calls")
    .addColumn("call_id", "text", (column) => column.notNull())
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("document_id", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("document_calls_key", ["call_id", "kind", "document_id"])
    .execute();
  await sql`create index document_calls_document on document_calls (document_id)`.execute(db);
}
