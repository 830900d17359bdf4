// Statements for many rows of plain values. Their text is constant, so that neither Kysely nor the
// database compiles a query of a thousand values: SQLite runs one prepared statement for each row,
// PostgreSQL one statement for all.
import type { Kysely } from "kysely";
import type { Schema } from "./schema.ts";

/** As PostgreSQL calls it; SQLite needs no type. */
type ColumnType = "text" | "integer" | "bigint" | "double precision" | "bytea";

export type BulkValue = string | number | Uint8Array | null;

/** The texts in these become SQL as they stand. */
export interface BulkInsert<Column extends string = string> {
  readonly into: keyof Schema;
  /** Of the rows given. */
  readonly columns: Readonly<Record<Column, ColumnType>>;
  /**
   * The values by the columns that they go into, where these are not the rows themselves:
   * expressions in which `given.name` is a column of a row.
   */
  readonly values?: Readonly<Record<string, string>>;
  /** From `on conflict` on. */
  readonly onConflict: string;
}

export type BulkRow<Column extends string = string> = Readonly<Record<Column, BulkValue>>;

/** How a database runs such a statement. `kysely` is in a transaction. */
export type RunBulk = (
  kysely: Kysely<Schema>,
  insert: BulkInsert,
  rows: readonly BulkRow[],
) => Promise<void>;

/** `source` makes what follows the columns: from the expressions of their values. */
export function textOfInsert(
  { into, columns, values, onConflict }: BulkInsert,
  source: (expressions: string) => string,
): string {
  const given = Object.fromEntries(Object.keys(columns).map((name) => [name, `given.${name}`]));
  const [names, expressions] = [Object.keys(values ?? given), Object.values(values ?? given)];
  return `insert into ${into} (${names.join(", ")}) ${source(expressions.join(", "))} ${onConflict}`;
}

/** For `on conflict … do update set`: the columns of the row that could not be inserted. */
export const takeExcluded = (columns: readonly string[]): string =>
  columns.map((column) => `${column} = excluded.${column}`).join(", ");
