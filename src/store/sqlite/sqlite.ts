// The embedded database: node:sqlite behind Kysely.
import { existsSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { SQLInputValue, StatementSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { Clock } from "../../runtime/clock.ts";
import { chunksOf } from "../../model/chunks.ts";
import { textOfInsert } from "../bulk.ts";
import type { BulkInsert, BulkRow, BulkValue } from "../bulk.ts";
import type { Database } from "../database.ts";
import type { DatabaseMetrics } from "../metrics.ts";
import { guardOf, resultCodeOf } from "./guard.ts";
import type { Guard } from "./guard.ts";
import { createMemory } from "./memory.ts";
import { kyselyOver } from "./sqlite-executor.ts";
import type { Execute } from "./sqlite-executor.ts";

export interface SqliteOptions {
  /** A file, created when missing; its folder must exist. */
  readonly path: string;
  readonly clock: Clock;
  readonly metrics?: DatabaseMetrics | undefined;
  /** Changes and creates no file. The file must exist. */
  readonly readOnly?: boolean;
}

/** Throws with one line for the operator when the file is unusable. */
export function openSqlite({ path, clock, metrics, readOnly = false }: SqliteOptions): Database {
  const writer = readOnly ? openToRead(path) : openFile(path);
  const reader = readOnly ? writer : openBeside(path);
  const guarded = guardOf(metrics);
  const statements = cacheStatements(writer, guarded);
  const memory = createMemory(reader, guarded);
  const write = executeWith(statements, guarded);
  const kysely = kyselyOver({
    write(query) {
      memory.lookAgain();
      return write(query);
    },
    read: executeWith(cacheStatements(reader, guarded), guarded),
    isInTransaction: () => writer.isOpen && writer.isTransaction,
    close() {
      for (const database of [reader, writer]) if (database.isOpen) database.close();
    },
  });
  return {
    kysely,
    rowLocks: false,
    runBulk: (_kysely, insert, rows) => runForEach(statements, guarded, insert, rows),
    isTransient: () => false,
    numbers: new Map(),
    remember: memory.remember,
    afterCommit: (work) => work(),
    timeOf: async () => clock.now(),
  };
}

function openFile(path: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path);
    // WAL with NORMAL: a killed process loses no committed transaction. Rarer checkpoints double
    // the insert rate. A cache of 32 MB holds the ends of the indexes that a batch of results adds
    // to. Temporary files are beside it: a container may have no other folder to write to.
    database.exec(`
      pragma busy_timeout = 5000;
      pragma journal_mode = wal;
      pragma synchronous = normal;
      pragma wal_autocheckpoint = 10000;
      pragma cache_size = -32768;
      pragma temp_store_directory = '${dirname(path).replaceAll("'", "''")}';
    `);
    return database;
  } catch (cause) {
    database?.close();
    const advice = isDamaged(cause)
      ? "restore it from a backup, or move it away"
      : "make the file and its folder writable, with room in it";
    throw new Error(
      `cannot use the database ${path} (${(cause as Error).message}): ${advice}, or set SONDE_DATA_DIR`,
      { cause },
    );
  }
}

/** Opens a second connection, which only reads. */
function openBeside(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec(`
    pragma busy_timeout = 5000;
    pragma cache_size = -8192;
    pragma query_only = on;
  `);
  return database;
}

/**
 * A file without a log is open in no process. Reading it like an ordinary database would leave
 * behind an empty log and its index. See https://www.sqlite.org/wal.html#readonly
 */
function openToRead(path: string): DatabaseSync {
  const file = realpathSync(path); // the log is beside it, not beside a link to it
  const url = pathToFileURL(file);
  if (!existsSync(`${file}-wal`)) url.searchParams.set("immutable", "1");
  const database = new DatabaseSync(url, { readOnly: true });
  database.exec("pragma busy_timeout = 2000");
  return database;
}

/** A few milliseconds of rows: sockets and timers wait no longer. */
const ROWS_A_TURN = 200;

/** Runs within Kysely's transaction, which has the writing connection. */
async function runForEach(
  statements: Statements,
  guarded: Guard,
  insert: BulkInsert,
  rows: readonly BulkRow[],
): Promise<void> {
  const columns = Object.keys(insert.columns);
  const parameterOf = (_: string, column: string): string => `?${columns.indexOf(column) + 1}`;
  const text = textOfInsert(
    insert,
    (expressions) => `values (${expressions.replaceAll(/given\.(\w+)/g, parameterOf)})`,
  );
  const { prepared } = statements(text);
  const run = (row: BulkRow) => prepared.run(...columns.map((name) => row[name] as BulkValue));
  for (const chunk of chunksOf(rows, ROWS_A_TURN)) {
    guarded(() => chunk.forEach(run));
    if (rows.length > ROWS_A_TURN) await nextTurn();
  }
}

const STATEMENTS_CACHED = 200;

interface Statement {
  readonly prepared: StatementSync;
  /** Reading a statement's columns takes longer than running most statements. */
  readonly returnsRows: boolean;
  /** Makes an object of what `prepared` returns for a row. */
  readonly toRow: (returned: unknown) => unknown;
}

type Statements = (text: string) => Statement;

/** Compiles each text once, until the cache is full and starts over. */
function cacheStatements(database: DatabaseSync, guarded: Guard): Statements {
  const kept = new Map<string, Statement>();
  return (text) => {
    const found = kept.get(text);
    if (found) return found;
    if (kept.size >= STATEMENTS_CACHED) kept.clear();
    const prepared = guarded(() => database.prepare(text));
    const statement = toStatement(prepared, text);
    kept.set(text, statement);
    return statement;
  };
}

/** Objects made by node:sqlite take longer to make than arrays, and longer to read than ours. */
function toStatement(prepared: StatementSync, text: string): Statement {
  const columns = prepared.columns().map(({ name }) => name);
  const returnsRows = columns.length > 0;
  // The columns of `*` change with the schema.
  if (text.includes("*")) return { prepared, returnsRows, toRow: (row) => row };
  prepared.setReturnArrays(true);
  const toRow = (values: unknown): unknown => {
    const row: Record<string, unknown> = {};
    columns.forEach((name, n) => {
      row[name] = (values as readonly unknown[])[n];
    });
    return row;
  };
  return { prepared, returnsRows, toRow };
}

const executeWith =
  (statements: Statements, guarded: Guard): Execute =>
  ({ sql, parameters }) => {
    const { prepared, returnsRows, toRow } = statements(sql);
    const values = parameters as SQLInputValue[];
    if (returnsRows) return { rows: guarded(() => prepared.all(...values)).map(toRow) };
    const { changes } = guarded(() => prepared.run(...values));
    return { rows: [], numAffectedRows: BigInt(changes) };
  };

// SQLITE_CORRUPT, SQLITE_NOTADB: https://www.sqlite.org/rescode.html
const isDamaged = (cause: unknown): boolean => [11, 26].includes(resultCodeOf(cause) ?? 0);
