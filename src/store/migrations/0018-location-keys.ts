// The version of each location's key, and when a location was removed.
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable("locations")
    .addColumn("key_version", "integer", (column) => column.notNull().defaultTo(1))
    .execute();
  for (const instant of ["key_changed", "removed"])
    await db.schema.alterTable("locations").addColumn(instant, "bigint").execute();
}
