// What goes from a file database to PostgreSQL: the tables, and their columns as both have them.
import { sql } from "kysely";
import type { BulkInsert } from "./bulk.ts";
import type { Database } from "./database.ts";
import type { Schema } from "./schema.ts";

/** Who listens to what is recorded begins anew. */
export type Table = Exclude<keyof Schema, "result_spans" | "recorded">;
export type ColumnType = BulkInsert["columns"][string];

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** Its values are given by the database where none are. */
  readonly numbered: boolean;
  /** Of the file, in its SQL. */
  readonly source: string;
}

/** Values that differ, in the SQL of both databases. */
type Changes = Readonly<Record<string, string>>;

/**
 * In this order. A process that held a lease is gone, but how far it came counts. What was
 * published in memory has not been.
 */
const CHANGES: Readonly<Record<Table, Changes>> = {
  master_keys: {},
  api_keys: {},
  locations: {},
  agents: {},
  documents: {},
  document_calls: {},
  owner_usage: {},
  schedules: {},
  new_schedules: {},
  opening_slots: {},
  pending_runs: { published: "0" },
  leases: { holder: "''", expires_at: "0" },
  names: {},
  results: {},
  result_details: {},
  workflow_results: {},
  stats: {},
  stat_buckets: {},
  insights: {},
  stale_insights: {},
  audit: {},
  kept_answers: {},
  sessions: {},
  sign_in_codes: {},
};

export const TABLES = Object.keys(CHANGES) as readonly Table[];

/** Of a table of PostgreSQL, with the schema of this version. */
export async function columnsOf({ kysely }: Database, table: Table): Promise<Column[]> {
  const { rows } = await sql<Pick<Column, "name" | "type" | "numbered">>`
    select attname as name, format_type(atttypid, null) as type, attidentity <> '' as numbered
    from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped
    order by attnum`.execute(kysely);
  return rows.map((column) => ({
    ...column,
    source: CHANGES[table][column.name] ?? `"${column.name}"`,
  }));
}

/** The tables that have rows, of a database with or without the schema. */
export async function tablesWithRows({ kysely }: Database): Promise<Table[]> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
    where relkind in ('r', 'p') and oid = to_regclass(quote_ident(relname))`.execute(kysely);
  const there = new Set(rows.map(({ name }) => name));
  const filled: Table[] = [];
  for (const table of TABLES) {
    if (!there.has(table)) continue;
    const first = await sql`select 1 from ${sql.table(table)} limit 1`.execute(kysely);
    if (first.rows.length > 0) filled.push(table);
  }
  return filled;
}
