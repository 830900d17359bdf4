// Migrates a database's schema to this version. There are no down migrations.
import { setTimeout as pause } from "node:timers/promises";
import { SqliteAdapter, sql } from "kysely";
import type { Kysely } from "kysely";
import { Migrator } from "kysely/migration";
import type { Migration } from "kysely/migration";
import { isLockTimeout } from "./database.ts";
import type { Database } from "./database.ts";
import type { Schema } from "./schema.ts";
import * as initial from "./migrations/0001-initial.ts";
import * as keysAuditAnswers from "./migrations/0002-keys-audit-answers.ts";
import * as workflowRuns from "./migrations/0003-workflow-runs.ts";
import * as resources from "./migrations/0004-resources.ts";
import * as resultContents from "./migrations/0005-result-contents.ts";
import * as tokenRenewals from "./migrations/0006-token-renewals.ts";
import * as resultsInColumns from "./migrations/0007-results-in-columns.ts";
import * as openingSlots from "./migrations/0008-opening-slots.ts";
import * as identity from "./migrations/0009-identity.ts";
import * as tokenEndpoints from "./migrations/0010-token-endpoints.ts";
import * as budgets from "./migrations/0011-budgets.ts";
import * as agentIds from "./migrations/0012-agent-ids.ts";
import * as agentAddresses from "./migrations/0013-agent-addresses.ts";
import * as resultFilters from "./migrations/0014-result-filters.ts";
import * as insights from "./migrations/0015-insights.ts";
import * as resultsByDay from "./migrations/0016-results-by-day.ts";
import * as agentsByLocation from "./migrations/0017-agents-by-location.ts";
import * as locationKeys from "./migrations/0018-location-keys.ts";
import * as sessions from "./migrations/0019-sessions.ts";
import * as recorded from "./migrations/0020-recorded.ts";
import * as keyNames from "./migrations/0021-key-names.ts";
import * as workflowResultLists from "./migrations/0022-workflow-result-lists.ts";
import * as lostDeployments from "./migrations/0023-lost-deployments.ts";

/** All migrations by name, in order. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  "0001-initial": initial,
  "0002-keys-audit-answers": keysAuditAnswers,
  "0003-workflow-runs": workflowRuns,
  "0004-resources": resources,
  "0005-result-contents": resultContents,
  "0006-token-renewals": tokenRenewals,
  "0007-results-in-columns": resultsInColumns,
  "0008-opening-slots": openingSlots,
  "0009-identity": identity,
  "0010-token-endpoints": tokenEndpoints,
  "0011-budgets": budgets,
  "0012-agent-ids": agentIds,
  "0013-agent-addresses": agentAddresses,
  "0014-result-filters": resultFilters,
  "0015-insights": insights,
  "0016-results-by-day": resultsByDay,
  "0017-agents-by-location": agentsByLocation,
  "0018-location-keys": locationKeys,
  "0019-sessions": sessions,
  "0020-recorded": recorded,
  "0021-key-names": keyNames,
  "0022-workflow-result-lists": workflowResultLists,
  "0023-lost-deployments": lostDeployments,
};

export const NEWEST = Object.keys(MIGRATIONS).at(-1) as string;

/** A waiting lock request blocks all later ones, so a migration gives up and retries. */
export const LOCK_TIMEOUT_MS = 1000;
const GIVE_WAY_MS = 1000;

/**
 * Applies the missing migrations in one transaction and returns their names. Several processes may
 * do so at once: waits for those using the tables or migrating. Rejects, changing nothing, if the
 * schema is a newer Sonde's.
 */
export async function migrate({ kysely, isTransient }: Database): Promise<string[]> {
  if (!(await hasTable(kysely, "kysely_migration"))) await refuseEncoding(kysely);
  const schema = await schemaOf(kysely);
  const migrator = new Migrator({
    db: kysely,
    provider: { getMigrations: async () => ({ ...MIGRATIONS }) },
    ...(schema !== undefined && { migrationTableSchema: schema }),
  });
  for (;;) {
    if (await hasSchema(kysely)) return [];
    const { error, results = [] } = await migrator.migrateToLatest();
    if (!error) return results.map(({ migrationName }) => migrationName);
    if (!isTransient(error) && !isLockTimeout(error))
      throw new Error(
        `the database schema could not be migrated (${(error as Error).message}); nothing was changed`,
        { cause: error },
      );
    await pause(GIVE_WAY_MS);
  }
}

/** Migrations by name, in order. */
export interface SchemaState {
  readonly applied: readonly string[];
  readonly missing: readonly string[];
  /** Applied by a newer Sonde. */
  readonly unknown: readonly string[];
}

export async function schemaState(kysely: Kysely<Schema>): Promise<SchemaState> {
  const applied = await appliedMigrations(kysely);
  return {
    applied,
    missing: Object.keys(MIGRATIONS).filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !Object.hasOwn(MIGRATIONS, name)),
  };
}

/** Rejects unless the schema is of this version. */
export async function assertMigrated(kysely: Kysely<Schema>): Promise<void> {
  if (await hasSchema(kysely)) return;
  const found = (await appliedMigrations(kysely)).at(-1);
  throw new Error(
    `the database has ${found ? `schema ${found}` : "no schema"}, and this Sonde needs ${NEWEST}: run \`sonde migrate\` of this version, or set SONDE_MIGRATE=on`,
  );
}

/** Returns false for an older schema or none. Rejects if a newer Sonde made it. */
export async function hasSchema(kysely: Kysely<Schema>): Promise<boolean> {
  const { missing, unknown } = await schemaState(kysely);
  if (unknown.length === 0) return missing.length === 0;
  throw new Error(
    `the database has schema ${unknown.at(-1)}, but this Sonde supports schemas up to ${NEWEST}: start a newer Sonde, or restore a backup`,
  );
}

const isSqlite = (kysely: Kysely<Schema>): boolean =>
  kysely.getExecutor().adapter instanceof SqliteAdapter;

/** SQL_ASCII stores any bytes: those of UTF-8, which Sonde sends. */
const ENCODINGS: readonly unknown[] = ["UTF8", "SQL_ASCII"];

/** In another encoding, texts with other characters could not be stored. */
async function refuseEncoding(kysely: Kysely<Schema>): Promise<void> {
  if (isSqlite(kysely)) return;
  const { rows } = await sql<{ name: string }>`
    select current_setting('server_encoding') as name`.execute(kysely);
  const [encoding] = rows.map(({ name }) => name);
  if (ENCODINGS.includes(encoding)) return;
  throw new Error(
    `the database can store only the characters of ${encoding}: create it with \`encoding 'UTF8' locale 'C' template template0\``,
  );
}

/**
 * The PostgreSQL schema of the tables, or of those to be created. Without it, Kysely takes another
 * program's migrations in any schema of the database for ours.
 */
async function schemaOf(kysely: Kysely<Schema>): Promise<string | undefined> {
  if (isSqlite(kysely)) return undefined;
  const { rows } = await sql<{ name: string | null }>`
    select coalesce(min(nspname), current_schema()) as name
    from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    where pg_class.oid = to_regclass('kysely_migration')`.execute(kysely);
  const name = rows[0]?.name;
  if (name) return name;
  throw new Error(
    "the search_path names no schema that exists: create one, or correct it in the database or its URL",
  );
}

/** Kysely's introspection would read the columns of all tables, including each day of results. */
export async function hasTable(kysely: Kysely<Schema>, table: string): Promise<boolean> {
  const found = isSqlite(kysely)
    ? sql`select 1 from sqlite_master where type = 'table' and name = ${table}`
    : sql`select 1 where to_regclass(${table}) is not null`;
  return (await found.execute(kysely)).rows.length > 0;
}

/** Returns their names, in order. */
async function appliedMigrations(kysely: Kysely<Schema>): Promise<string[]> {
  if (!(await hasTable(kysely, "kysely_migration"))) return [];
  const applied = await kysely
    .withTables<{ kysely_migration: { name: string } }>()
    .selectFrom("kysely_migration")
    .select("name")
    .orderBy("name")
    .execute();
  return applied.map(({ name }) => name);
}
