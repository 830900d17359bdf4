// Adds what was recorded recently, for the listeners to live events.
import { SqliteAdapter, sql } from "kysely";
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  const isSqlite = db.getExecutor().adapter instanceof SqliteAdapter;
  const [seq, xact] = isSqlite
    ? ["integer primary key autoincrement", ""]
    : [
        "bigint generated always as identity primary key",
        "xact xid8 not null default pg_current_xact_id(),",
      ];
  await sql
    .raw(`create table recorded (seq ${seq}, ${xact} time bigint not null, body text not null)`)
    .execute(db);
  if (!isSqlite) await sql`create index recorded_order on recorded (xact, seq)`.execute(db);
}
