// Copies everything from a file database into an empty PostgreSQL database, in one transaction: all
// or nothing.
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { databaseAddressOf } from "../../model/database-url.ts";
import { isUnavailable } from "../../model/errors.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { BulkRow, BulkValue } from "../bulk.ts";
import type { Database } from "../database.ts";
import { insertRows } from "../database.ts";
import { migrate } from "../migrate.ts";
import { divideByDays } from "../postgres/partitions.ts";
import type { DividedTable } from "../postgres/partitions.ts";
import { openPostgres } from "../postgres/postgres.ts";
import type { PostgresOptions } from "../postgres/postgres.ts";
import { explainedOf, migrateStore } from "../open-store.ts";
import { noteSpans } from "../result-days.ts";
import { checkTable } from "./transfer-check.ts";
import { columnsOf, TABLES, tablesWithRows } from "./transfer-tables.ts";
import type { Column, Table } from "./transfer-tables.ts";

export interface TransferOptions {
  /** No process may be serving it. Its schema is migrated. */
  readonly file: string;
  readonly server: Pick<PostgresOptions, "url" | "ca">;
  /** The setting or option that names the server, for messages. */
  readonly setting: string;
  readonly clock: Clock;
  /** Called with the newest migration if the file had an older schema. */
  readonly onMigrated: (schema: string) => void;
  /** Called once, with the number of rows to transfer. */
  readonly onStart: (rows: number) => void;
  /** Called with the number of rows in each batch. Throws to end the transfer. */
  readonly onRows: (rows: number) => void;
  /** Called when all rows are copied. */
  readonly onChecking: () => void;
}

/** Rows by table. */
export type Transferred = Readonly<Record<Table, number>>;

/** A batch ends at the limit that it reaches first. */
const [BATCH_ROWS, BATCH_BYTES] = [2000, 4_000_000];

/** Rejects with one line for the operator, leaving the server's database as empty as it was. */
export async function transfer(options: TransferOptions): Promise<Transferred> {
  const { file, server, setting, clock } = options;
  const target = openPostgres({ ...server, maxConnections: 2, timeoutMs: 0 });
  try {
    await refuseFilled(target, server.url);
    await migrate(target);
    const schema = (await migrateStore({ location: { file }, clock })).at(-1);
    if (schema !== undefined) options.onMigrated(schema);
    using source = openSource(file);
    const transferred = await target.kysely.transaction().execute(async (kysely) => {
      const transaction = { ...target, kysely };
      // A process that starts on the database waits for this lock; a second transfer does too, and
      // then finds the database filled.
      await sql`lock table master_keys in exclusive mode`.execute(kysely);
      await refuseFilled(transaction, server.url);
      return copyAll(source, transaction, options);
    });
    await sql`analyze`.execute(target.kysely);
    return transferred;
  } catch (cause) {
    throw await explainedOf(cause, server.url, setting);
  } finally {
    await target.kysely.destroy();
  }
}

async function refuseFilled(target: Database, url: string): Promise<void> {
  const filled = await tablesWithRows(target);
  if (filled.length === 0) return;
  throw new Error(
    `the database at ${databaseAddressOf(url)} is not empty (${filled.join(", ")}): name a new one`,
  );
}

/** Opens the file to be read as of one instant. */
function openSource(file: string): DatabaseSync {
  const source = new DatabaseSync(file, { readOnly: true });
  source.exec("pragma busy_timeout = 5000; begin");
  return source;
}

async function copyAll(
  source: DatabaseSync,
  target: Database,
  { onStart, onRows, onChecking }: TransferOptions,
): Promise<Transferred> {
  onStart(TABLES.reduce((sum, table) => sum + countOf(source, table), 0));
  for (const [table, id] of [
    ["results", "id"],
    ["result_details", "result_id"],
  ] as const)
    await divideByDays(target, table, (after) => nextId(source, table, id, after));
  const copied: [Table, Column[]][] = [];
  for (const table of TABLES) {
    const columns = await columnsOf(target, table);
    await naming(table, () => copyTable(source, target, { table, columns, onRows }));
    copied.push([table, columns]);
  }
  onChecking();
  const counts = {} as Record<Table, number>;
  for (const [table, columns] of copied)
    counts[table] = await checkTable(source, target, table, columns);
  return counts;
}

function countOf(source: DatabaseSync, table: Table): number {
  const { rows } = source.prepare(`select count(*) as rows from "${table}"`).get() as {
    rows: number;
  };
  return rows;
}

/** Returns the first id at or after `from`. */
function nextId(
  source: DatabaseSync,
  table: DividedTable,
  id: string,
  from: string,
): string | undefined {
  const next = source.prepare(
    `select "${id}" as id from "${table}" where "${id}" >= ? order by "${id}" limit 1`,
  );
  return (next.get(from) as { id: string } | undefined)?.id;
}

interface TableCopy {
  readonly table: Table;
  readonly columns: readonly Column[];
  readonly onRows: TransferOptions["onRows"];
}

async function copyTable(
  source: DatabaseSync,
  target: Database,
  { table, columns, onRows }: TableCopy,
): Promise<void> {
  const values = columns.map(({ name, source: value }) => `${value} as "${name}"`).join(", ");
  const insert = {
    into: table,
    columns: Object.fromEntries(columns.map(({ name, type }) => [name, type])),
    onConflict: "",
  };
  const rows = source.prepare(`select ${values} from "${table}"`).iterate() as Iterable<BulkRow>;
  for (const batch of batchesOf(rows)) {
    await insertRows(target, insert, batch);
    if (table === "results") await noteSpans(target, batch);
    onRows(batch.length);
  }
  for (const { name, numbered } of columns) if (numbered) await startAfter(target, table, name);
}

function* batchesOf(rows: Iterable<BulkRow>): Iterable<BulkRow[]> {
  let [batch, bytes]: [BulkRow[], number] = [[], 0];
  for (const row of rows) {
    batch.push(row);
    for (const value of Object.values(row)) bytes += sizeOf(value);
    if (batch.length < BATCH_ROWS && bytes < BATCH_BYTES) continue;
    yield batch;
    [batch, bytes] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

const NUMBER_BYTES = 8;
const sizeOf = (value: BulkValue): number =>
  typeof value === "string" || value instanceof Uint8Array ? value.length : NUMBER_BYTES;

/** Sets the sequence so that the next row gets the number after the last. */
async function startAfter({ kysely }: Database, table: Table, column: string): Promise<void> {
  await sql`
    select setval(pg_get_serial_sequence(${table}, ${column}),
      coalesce(max(${sql.ref(column)}), 0) + 1, false)
    from ${sql.table(table)}`.execute(kysely);
}

/** Rejects with a line that names the table. */
async function naming(table: Table, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    if (isUnavailable(cause)) throw cause;
    throw new Error(
      `${table} cannot be transferred (${(cause as Error).message}); nothing was transferred`,
      { cause },
    );
  }
}
