// Checks that two databases hold the same data, by the row count and column sums of each table.
import type { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import type { Database } from "../database.ts";
import type { Column, Table } from "./transfer-tables.ts";

/** Sums of remainders are exact for any number of rows. */
const PRIME = 1_000_003;
/** Relative to the sum of magnitudes: sums of fractions depend on the order of the rows. */
const PRECISION = 1e-9;

type Sums = Readonly<Record<string, number | null>>;

/** Throws, naming the column, if the table differs. Returns how many rows it has. */
export async function checkTable(
  source: DatabaseSync,
  { kysely }: Database,
  table: Table,
  columns: readonly Column[],
): Promise<number> {
  const wanted = source
    .prepare(`select ${sumsOf(columns, ({ source: value }) => value)} from "${table}"`)
    .get() as Sums;
  const stored = sumsOf(columns, ({ name }) => `"${name}"`);
  const { rows } = await sql<Sums>`
    select ${sql.raw(stored)} from ${sql.table(table)}`.execute(kysely);
  for (const [key, expected] of Object.entries(wanted)) {
    const found = rows[0]?.[key] ?? null;
    const size = wanted[sizeOf(key)] ?? expected ?? 0;
    if (!isSame(expected, found, size)) throw differs(table, key, expected, found);
  }
  return wanted["rows"] ?? 0;
}

/** For each column, how many values it has, and a sum; of fractions, also that of magnitudes. */
const sumsOf = (columns: readonly Column[], valueOf: (column: Column) => string): string =>
  ["count(*) as rows"]
    .concat(
      columns.flatMap((column) => [
        `count(${valueOf(column)}) as "${column.name} values"`,
        sumOf(SUMMANDS[column.type](valueOf(column)), column.name),
        ...(column.type === "double precision"
          ? [sumOf(`abs(${valueOf(column)})`, sizeOf(column.name))]
          : []),
      ]),
    )
    .join(", ");

const sumOf = (summand: string, name: string): string =>
  `cast(sum(${summand}) as double precision) as "${name}"`;

/** Names the sum of a column's magnitudes. */
const sizeOf = (name: string): string => `${name} size`;

const remainder = (value: string): string => `(${value}) % ${PRIME}`;
/** In bytes: a text of another encoding may have as many characters. */
const length = (value: string): string => `octet_length(${value})`;

const SUMMANDS: Readonly<Record<Column["type"], (value: string) => string>> = {
  text: length,
  bytea: length,
  integer: remainder,
  bigint: remainder,
  "double precision": (value) => value,
};

const isSame = (a: number | null, b: number | null, size: number): boolean =>
  a === null || b === null ? a === b : Math.abs(a - b) <= PRECISION * size;

const differs = (table: Table, key: string, expected: number | null, found: number | null): Error =>
  new Error(
    `${table} differs in PostgreSQL: ${key} is ${found}, and ${expected} in the file; nothing was transferred`,
  );
