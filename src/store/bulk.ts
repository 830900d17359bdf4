// Statements for many rows of plain values. Their text is constant, so neither Kysely nor the
// database compiles a query of a thousand values: SQLite runs one prepared statement per row,
// PostgreSQL one statement for all.
import type { Kysely } from "kysely";
import type { Schema } from "./schema.ts";

/** PostgreSQL's name for the type; SQLite needs none. */
type ColumnType = "text" | "integer" | "bigint" | "double precision" | "bytea";

export type BulkValue = string | number | Uint8Array | null;

/** Its strings become SQL verbatim. */
export interface BulkInsert<Column extends string = string> {
  readonly into: keyof Schema;
  /** The columns of the given rows. */
  readonly columns: Readonly<Record<Column, ColumnType>>;
  /**
   * The SQL expression for each target column, in which `given.name` is a column of a row. By
   * default, each column of a row goes into the target column of the same name.
   */
  readonly values?: Readonly<Record<string, string>>;
  /** The `on conflict` clause. */
  readonly onConflict: string;
}

export type BulkRow<Column extends string = string> = Readonly<Record<Column, BulkValue>>;

/** Runs such a statement. `kysely` is in a transaction. */
export type RunBulk = (
  kysely: Kysely<Schema>,
  insert: BulkInsert,
  rows: readonly BulkRow[],
) => Promise<void>;

/** `source` turns the expressions of the values into the part after the column list. */
export function textOfInsert(
  { into, columns, values, onConflict }: BulkInsert,
  source: (expressions: string) => string,
): string {
  const given = Object.fromEntries(Object.keys(columns).map((name) => [name, `given.${name}`]));
  const [names, expressions] = [Object.keys(values ?? given), Object.values(values ?? given)];
  return `insert into ${into} (${names.join(", ")}) ${source(expressions.join(", "))} ${onConflict}`;
}

/** For `on conflict … do update set`: takes the columns from the rejected row. */
export const takeExcluded = (columns: readonly string[]): string =>
  columns.map((column) => `${column} = excluded.${column}`).join(", ");
