// The tables that are transferred from a file database to PostgreSQL, and their columns in both.
import { sql } from "kysely";
import type { BulkInsert } from "../bulk.ts";
import type { Database } from "../database.ts";
import type { Schema } from "../schema.ts";

/** Listeners to `recorded` start over; `result_spans` is computed from the results. */
export type Table = Exclude<keyof Schema, "result_spans" | "recorded">;
export type ColumnType = BulkInsert["columns"][string];

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** The database generates a value if none is given. */
  readonly numbered: boolean;
  /** The value to transfer, as an expression in the file's SQL. */
  readonly source: string;
}

/** Values that replace the file's, by column, in SQL that both databases understand. */
type Changes = Readonly<Record<string, string>>;

/**
 * The tables, in the order of the transfer. A process that held a lease is gone, but its cursor
 * counts. Runs that were published on the bus in memory count as unpublished.
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

/** Returns the columns of a table in PostgreSQL, which has the schema of this version. */
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

/** Returns the tables that have rows. The database may lack the schema. */
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
