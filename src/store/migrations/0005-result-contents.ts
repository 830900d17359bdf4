// The bodies of responses, kept with their results.
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("result_contents")
    .addColumn("result_id", "text", (column) => column.primaryKey())
    .addColumn("content_type", "text")
    .addColumn("encoding", "text")
    .addColumn("size", "bigint", (column) => column.notNull())
    .addColumn("content", "text")
    .addColumn("reason", "text")
    .execute();
}
