// Makes the pair of organization and name the owner of schedules, runs and audit entries. Adds
// indexes for the lists of one owner and for the active keys of many.
import { sql } from "kysely";
import type { Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await indexDocuments(db);
  for (const table of ["schedules", "pending_runs"])
    await db.schema.alterTable(table).addColumn("owner_org", "text").execute();
  // For manual runs, and those of deleted deployments: only the target's owner or organization
  // could order them.
  await sql`update pending_runs set owner_org = (
    select owner_org from documents where id = pending_runs.target_id
  )`.execute(db);
  await ofDeployments(db, "schedules");
  await ofDeployments(db, "pending_runs");
  await sql`create index api_keys_owner on api_keys (owner, org) where revoked = 0`.execute(db);
  await extendAudit(db);
}

/** Two indexes for each list: neither database can sort by one in which a column is null. */
async function indexDocuments(db: Kysely<unknown>): Promise<void> {
  await sql`drop index documents_owner`.execute(db);
  await sql`drop index documents_domain`.execute(db);
  await sql`create index documents_owner on documents (kind, owner, id)
    where owner_org is null`.execute(db);
  await sql`create index documents_owner_in_org on documents (kind, owner_org, owner, id)
    where owner_org is not null`.execute(db);
  await sql`create index documents_domain on documents (kind, domain, owner, id)
    where domain is not null and owner_org is null`.execute(db);
  await sql`create index documents_domain_in_org on documents (kind, domain, owner_org, owner, id)
    where domain is not null and owner_org is not null`.execute(db);
}

async function ofDeployments(
  db: Kysely<unknown>,
  table: "schedules" | "pending_runs",
): Promise<void> {
  const deployments = sql`documents where kind = 'deployment' and id = deployment_id`;
  await sql`update ${sql.table(table)} set owner_org = (select owner_org from ${deployments})
    where exists (select 1 from ${deployments})`.execute(db);
}

async function extendAudit(db: Kysely<unknown>): Promise<void> {
  for (const column of ["org", "object_owner", "object_org"])
    await db.schema.alterTable("audit").addColumn(column, "text").execute();
  await sql`update audit set org = (select org from api_keys where id = actor)`.execute(db);
  // For keys issued on the command line.
  await sql`update audit set org = (select org from api_keys where id = object_id)
    where kind = 'api_key' and owner is not null
      and not exists (select 1 from api_keys where id = actor)`.execute(db);
  await sql`drop index audit_owner`.execute(db);
  await sql`create index audit_owner on audit (owner, org, time, id)`.execute(db);
}
