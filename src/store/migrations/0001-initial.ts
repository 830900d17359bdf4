// The first schema: documents, schedules, the ledger, statistics, keys, locations, leases.
import { sql } from "kysely";
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await createDocuments(db);
  await createSchedules(db);
  await createPendingRuns(db);
  await createResults(db);
  await createStats(db);
  await createApiKeys(db);
  await createLocations(db);
  await createAgents(db);
  await createLeases(db);
}

async function createDocuments(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("documents")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("owner", "text", (column) => column.notNull())
    .addColumn("owner_org", "text")
    .addColumn("shared_org", "integer", (column) => column.notNull())
    .addColumn("shared_community", "integer", (column) => column.notNull())
    .addColumn("domain", "text")
    .addColumn("auth_id", "text")
    .addColumn("target_id", "text")
    .addColumn("document", "text", (column) => column.notNull())
    .execute();
  await sql`create index documents_owner on documents (kind, owner, id)`.execute(db);
  await sql`create index documents_org on documents (kind, owner_org, id) where shared_org = 1`.execute(
    db,
  );
  await sql`create index documents_community on documents (kind, id) where shared_community = 1`.execute(
    db,
  );
  await sql`create index documents_domain on documents (kind, domain, owner, id) where domain is not null`.execute(
    db,
  );
  await sql`create index documents_auth on documents (kind, auth_id, id) where auth_id is not null`.execute(
    db,
  );
  await sql`create index documents_target on documents (kind, target_id, id) where target_id is not null`.execute(
    db,
  );
}

async function createSchedules(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("schedules")
    .addColumn("deployment_id", "text", (column) => column.notNull())
    .addColumn("owner", "text", (column) => column.notNull())
    .addColumn("target_id", "text", (column) => column.notNull())
    .addColumn("location_id", "text", (column) => column.notNull())
    .addColumn("frequency", "integer", (column) => column.notNull())
    .addColumn("run_delay", "integer", (column) => column.notNull())
    .addColumn("slot_key", "integer", (column) => column.notNull())
    .addColumn("active_from", "bigint", (column) => column.notNull())
    .addColumn("active_until", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("schedules_key", ["deployment_id", "active_from"])
    .execute();
  await sql`create index schedules_slot on schedules (slot_key, deployment_id)`.execute(db);
  await sql`create index schedules_start on schedules (active_from)`.execute(db);
  await sql`create index schedules_end on schedules (active_until)`.execute(db);
}

async function createPendingRuns(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("pending_runs")
    .addColumn("result_id", "text", (column) => column.primaryKey())
    .addColumn("trigger", "text", (column) => column.notNull())
    .addColumn("deployment_id", "text")
    .addColumn("target_id", "text", (column) => column.notNull())
    .addColumn("location_id", "text", (column) => column.notNull())
    .addColumn("owner", "text", (column) => column.notNull())
    .addColumn("trigger_time", "bigint", (column) => column.notNull())
    .addColumn("due_time", "bigint", (column) => column.notNull())
    .addColumn("latest_start", "bigint", (column) => column.notNull())
    .addColumn("expires_at", "bigint", (column) => column.notNull())
    .addColumn("context", "text", (column) => column.notNull())
    .addColumn("published", "integer", (column) => column.notNull())
    .execute();
  await sql`create index pending_runs_unpublished on pending_runs (due_time) where published = 0`.execute(
    db,
  );
  await sql`create index pending_runs_expiry on pending_runs (expires_at)`.execute(db);
  await sql`create index pending_runs_target on pending_runs (target_id, result_id)`.execute(db);
}

async function createResults(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("results")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("owner", "text", (column) => column.notNull())
    .addColumn("call_id", "text", (column) => column.notNull())
    .addColumn("deployment_id", "text")
    .addColumn("location_id", "text", (column) => column.notNull())
    .addColumn("time", "bigint", (column) => column.notNull())
    .addColumn("result", "text", (column) => column.notNull())
    .addColumn("latency", "integer")
    .addColumn("http_code", "integer")
    .addColumn("content_length", "bigint")
    .addColumn("dns", "double precision")
    .addColumn("tcp", "double precision")
    .addColumn("handshake", "double precision")
    .addColumn("upload", "double precision")
    .addColumn("processing", "double precision")
    .addColumn("download", "double precision")
    .addColumn("document", "text", (column) => column.notNull())
    .execute();
  await sql`create index results_call on results (call_id, id)`.execute(db);
  await sql`create index results_time on results (call_id, time, id)`.execute(db);
}

async function createStats(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("stats")
    .addColumn("call_id", "text", (column) => column.notNull())
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("period", "bigint", (column) => column.notNull())
    .addColumn("location_id", "text", (column) => column.notNull())
    .addColumn("result", "text", (column) => column.notNull())
    .addColumn("count", "bigint", (column) => column.notNull())
    .addColumn("min", "double precision", (column) => column.notNull())
    .addColumn("max", "double precision", (column) => column.notNull())
    .addColumn("mean", "double precision", (column) => column.notNull())
    .addColumn("m2", "double precision", (column) => column.notNull())
    .addColumn("m3", "double precision", (column) => column.notNull())
    .addColumn("histogram", "text", (column) => column.notNull())
    .addColumn("phases", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("stats_key", ["call_id", "kind", "period", "location_id", "result"])
    .execute();
}

async function createApiKeys(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("api_keys")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("hash", "text", (column) => column.notNull().unique())
    .addColumn("owner", "text", (column) => column.notNull())
    .addColumn("org", "text")
    .addColumn("access_level", "text", (column) => column.notNull())
    .addColumn("created", "bigint", (column) => column.notNull())
    .addColumn("last_update", "bigint", (column) => column.notNull())
    .addColumn("revoked", "integer", (column) => column.notNull())
    .execute();
}

async function createLocations(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("locations")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("label", "text", (column) => column.notNull())
    .addColumn("region", "text", (column) => column.notNull())
    .addColumn("created", "bigint", (column) => column.notNull())
    .execute();
}

async function createAgents(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("agents")
    .addColumn("agent_id", "text", (column) => column.primaryKey())
    .addColumn("location_id", "text", (column) => column.notNull())
    .addColumn("version", "text", (column) => column.notNull())
    .addColumn("in_flight", "integer", (column) => column.notNull())
    .addColumn("sent", "bigint", (column) => column.notNull())
    .addColumn("last_seen", "bigint", (column) => column.notNull())
    .execute();
}

async function createLeases(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("leases")
    .addColumn("name", "text", (column) => column.primaryKey())
    .addColumn("holder", "text", (column) => column.notNull())
    .addColumn("fence", "bigint", (column) => column.notNull())
    .addColumn("expires_at", "bigint", (column) => column.notNull())
    .addColumn("cursor", "bigint")
    .execute();
}
