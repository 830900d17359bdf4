// Statements for many rows of plain values. Their text is constant, so that neither Kysely nor the
// database compiles a query of a thousand values: SQLite runs one prepared statement for each row,
// PostgreSQL one statement for all.
import type { Kysely } from "kysely";
import type { Schema } from "./schema.ts";

/** As PostgreSQL calls it; SQLite needs no type. */
type ColumnType = "text" | "integer" | "bigint" | "double precision" | "bytea";

export type BulkValue = string | number | Uint8Array | null;

/** Names in these are trusted: they become SQL as they stand. */
export interface BulkInsert<Column extends string = string> {
  readonly into: keyof Schema;
  /** Of the rows given. */
  readonly columns: Readonly<Record<Column, ColumnType>>;
  /**
   * What to insert, where it is not the rows themselves: columns, and a query from `given`, which
   * stands for them.
   */
  readonly from?: { readonly columns: string; readonly query: string };
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

/** `given` is how the database writes the rows as a relation of that name. */
export function textOfInsert(
  { into, columns, from, onConflict }: BulkInsert,
  given: string,
): string {
  const names = Object.keys(columns).join(", ");
  const query = from?.query ?? `select ${names} from given`;
  const source = query.replace("from given", `from ${given}`);
  return `insert into ${into} (${from?.columns ?? names}) ${source} where true ${onConflict}`;
}

/** For `on conflict … do update set`: the columns of the row that could not be inserted. */
export const takeExcluded = (columns: readonly string[]): string =>
  columns.map((column) => `${column} = excluded.${column}`).join(", ");
