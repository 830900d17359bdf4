// Adds the sessions of the web pages, and the single-use sign-in codes. Both are stored as hashes.
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  const createTable = (name: string) =>
    db.schema
      .createTable(name)
      .addColumn("hash", "text", (column) => column.primaryKey())
      .addColumn("key_id", "text", (column) => column.notNull())
      .addColumn("created", "bigint", (column) => column.notNull());
  await createTable("sessions")
    .addColumn("last_used", "bigint", (column) => column.notNull())
    .execute();
  await createTable("sign_in_codes").execute();
}
