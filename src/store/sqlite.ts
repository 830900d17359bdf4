// The embedded database: node:sqlite behind Kysely's SQLite dialect.
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { SQLInputValue, StatementSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import {
  CompiledQuery,
  Kysely,
  SqliteAdapter,
  SqliteDialect,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type {
  DatabaseConnection,
  Dialect,
  Driver,
  SqliteDatabase,
  SqliteDialectConfig,
  TransactionSettings,
} from "kysely";
import { systemClock } from "../runtime/clock.ts";
import type { Clock } from "../runtime/clock.ts";
import { unavailable } from "../model/errors.ts";
import { textOfInsert } from "./bulk.ts";
import type { BulkInsert, BulkRow, BulkValue } from "./bulk.ts";
import type { Schema } from "./schema.ts";
import { chunksOf } from "./database.ts";
import type { Database } from "./database.ts";
import type { DatabaseMetrics } from "./metrics.ts";

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
  const database = readOnly ? openToRead(path) : openFile(path);
  const guarded = guardOf(metrics);
  const statements = cacheStatements(database, guarded);
  return {
    kysely: new Kysely<Schema>({ dialect: sqliteDialect(database, statements, guarded) }),
    rowLocks: false,
    runBulk: (_kysely, insert, rows) => runForEach(statements, guarded, insert, rows),
    isTransient: () => false,
    numbers: new Map(),
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
    // to.
    database.exec(`
      pragma busy_timeout = 5000;
      pragma journal_mode = wal;
      pragma synchronous = normal;
      pragma wal_autocheckpoint = 10000;
      pragma cache_size = -32768;
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

/**
 * A file without a log is open in no process. Reading it like an ordinary database would leave
 * behind an empty log and its index. See https://www.sqlite.org/wal.html#readonly
 */
function openToRead(path: string): DatabaseSync {
  const url = pathToFileURL(path);
  if (!existsSync(`${path}-wal`)) url.searchParams.set("immutable", "1");
  const database = new DatabaseSync(url, { readOnly: true });
  database.exec("pragma busy_timeout = 2000");
  return database;
}

/** A few milliseconds of rows: sockets and timers wait no longer. */
const ROWS_AT_ONCE = 200;

/** Runs within Kysely's transaction, which owns the only connection. */
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
  const statement = statements(text);
  const run = (row: BulkRow) => statement.run(...columns.map((name) => row[name] as BulkValue));
  for (const chunk of chunksOf(rows, ROWS_AT_ONCE)) {
    guarded(() => chunk.forEach(run));
    if (rows.length > ROWS_AT_ONCE) await nextTurn();
  }
}

function sqliteDialect(database: DatabaseSync, statements: Statements, guarded: Guard): Dialect {
  const adapted = adapt(database, statements, guarded);
  const config: SqliteDialectConfig = { database: async () => adapted };
  return {
    createAdapter: () => new WholeMigrationsAdapter(),
    createDriver: () => new ImmediateSqliteDriver(config, database),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  } satisfies Pick<SqliteDialect, keyof Dialect>;
}

/**
 * A migration that fails or is killed leaves no trace:
 * https://www.sqlite.org/lang_transaction.html
 */
class WholeMigrationsAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/**
 * Takes the write lock at the start, unless it only reads: a transaction must not conflict between
 * its reads and its writes.
 */
class ImmediateSqliteDriver extends SqliteDriver implements Driver {
  readonly #database: DatabaseSync;

  constructor(config: SqliteDialectConfig, database: DatabaseSync) {
    super(config);
    this.#database = database;
  }

  override async beginTransaction(
    connection: DatabaseConnection,
    { accessMode }: TransactionSettings = {},
  ): Promise<void> {
    const begin = accessMode === "read only" ? "begin" : "begin immediate";
    await connection.executeQuery(CompiledQuery.raw(begin));
  }

  /** On a full disk SQLite has rolled back already: a second rollback would hide its error. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.isTransaction) await super.rollbackTransaction(connection);
  }
}

const STATEMENTS_CACHED = 200;

type Statements = (text: string) => StatementSync;

/** Compiles each text once, until the cache is full and starts over. */
function cacheStatements(database: DatabaseSync, guarded: Guard): Statements {
  const kept = new Map<string, StatementSync>();
  return (text) => {
    const found = kept.get(text);
    if (found) return found;
    if (kept.size >= STATEMENTS_CACHED) kept.clear();
    const statement = guarded(() => database.prepare(text));
    kept.set(text, statement);
    return statement;
  };
}

/** Gives node:sqlite the shape of better-sqlite3, as Kysely expects. */
function adapt(database: DatabaseSync, statements: Statements, guarded: Guard): SqliteDatabase {
  // Reading a statement's columns takes longer than running most statements.
  const adapted = new WeakMap<StatementSync, ReturnType<SqliteDatabase["prepare"]>>();
  return {
    close: () => database.close(),
    prepare(text) {
      const statement = statements(text);
      const found = adapted.get(statement) ?? adaptStatement(statement, guarded);
      adapted.set(statement, found);
      return found;
    },
  };
}

const adaptStatement = (
  statement: StatementSync,
  guarded: Guard,
): ReturnType<SqliteDatabase["prepare"]> => ({
  reader: statement.columns().length > 0,
  all: (parameters) => guarded(() => statement.all(...(parameters as SQLInputValue[]))),
  run: (parameters) => guarded(() => statement.run(...(parameters as SQLInputValue[]))),
  iterate: (parameters) => statement.iterate(...(parameters as SQLInputValue[])),
});

// SQLITE_CORRUPT, SQLITE_NOTADB: https://www.sqlite.org/rescode.html
const isDamaged = (cause: unknown): boolean => [11, 26].includes(resultCodeOf(cause) ?? 0);

// SQLITE_BUSY, SQLITE_LOCKED, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN
const UNAVAILABLE_CODES = new Set([5, 6, 10, 13, 14]);

type Guard = <T>(work: () => T) => T;

/** A statement takes microseconds: timing each one would be noticeable. */
const MEASURED_ONE_IN = 16;

function guardOf(metrics: DatabaseMetrics | undefined): Guard {
  let uses = 0;
  return (work) => {
    const began =
      metrics && (uses += 1) % MEASURED_ONE_IN === 0 ? systemClock.monotonic() : undefined;
    try {
      const answer = work();
      metrics?.succeeded(began === undefined ? undefined : systemClock.monotonic() - began);
      return answer;
    } catch (cause) {
      const error = toUnavailable(cause);
      metrics?.failed(error);
      throw error;
    }
  };
}

function toUnavailable(cause: unknown): unknown {
  const code = resultCodeOf(cause);
  if (code === undefined || !UNAVAILABLE_CODES.has(code)) return cause;
  return unavailable(`database unavailable: ${(cause as Error).message}`, {
    part: "the database",
    cause,
  });
}

/** The primary result code, without the extension in the higher bits. */
const resultCodeOf = (cause: unknown): number | undefined =>
  cause instanceof Error && "errcode" in cause ? Number(cause.errcode) & 0xff : undefined;
