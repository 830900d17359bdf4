// Adds what agents report about themselves, and the order to drain. Identifies agents by location
// and id, so that no location's agent takes the place of another's.
import { sql } from "kysely";
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("location_agents")
    .addColumn("location_id", "text", (column) => column.notNull())
    .addColumn("agent_id", "text", (column) => column.notNull())
    .addColumn("version", "text", (column) => column.notNull())
    .addColumn("protocol", "integer", (column) => column.notNull())
    .addColumn("condition", "text", (column) => column.notNull())
    .addColumn("condition_since", "bigint", (column) => column.notNull())
    .addColumn("capacity", "integer")
    .addColumn("in_flight", "integer", (column) => column.notNull())
    .addColumn("held", "integer", (column) => column.notNull())
    .addColumn("spool_reports", "integer", (column) => column.notNull())
    .addColumn("spool_bytes", "bigint", (column) => column.notNull())
    .addColumn("clock_offset_ms", "double precision")
    .addColumn("sent", "double precision", (column) => column.notNull())
    .addColumn("remote_addr", "text", (column) => column.notNull())
    .addColumn("created", "bigint", (column) => column.notNull())
    .addColumn("last_seen", "bigint", (column) => column.notNull())
    .addColumn("drain_ordered", "integer", (column) => column.notNull().defaultTo(0))
    .addPrimaryKeyConstraint("location_agents_key", ["location_id", "agent_id"])
    .execute();
  await sql`insert into location_agents (location_id, agent_id, version, protocol, condition,
      condition_since, capacity, in_flight, held, spool_reports, spool_bytes, clock_offset_ms,
      sent, remote_addr, created, last_seen)
    select location_id, agent_id, version, 1, 'online',
      created, null, in_flight, 0, 0, 0, null, sent, remote_addr, created, last_seen
    from agents`.execute(db);
  await sql`drop table agents`.execute(db);
  await sql`alter table location_agents rename to agents`.execute(db);
}
