// A connected database of either dialect, as shared by the parts of the store.
import { setImmediate as nextTurn } from "node:timers/promises";
import { sql } from "kysely";
import type { Kysely, RawBuilder, SelectQueryBuilder, Transaction } from "kysely";
import { unavailable } from "../model/errors.ts";
import type { ReportedResult } from "../model/result.ts";
import { allDone } from "../runtime/all-done.ts";
import { codeOf } from "../runtime/error-code.ts";
import type { BulkInsert, BulkRow, RunBulk } from "./bulk.ts";
import type { Schema } from "./schema.ts";

export interface Database {
  readonly kysely: Kysely<Schema>;
  /** Whether rows can be locked one by one; if not, a transaction locks the whole database. */
  readonly rowLocks: boolean;
  readonly runBulk: RunBulk;
  /** Numbers of committed names, kept by `names.ts`. */
  readonly numbers: Map<string, number>;
  /**
   * Returns what `read` last returned for the key, unless a process has committed anything since.
   * Commits of other processes count at the latest in the next turn of the event loop. Use it
   * outside transactions. Absent where that question costs as much as a query.
   */
  readonly remember?: <T>(key: string, read: () => Promise<T>) => Promise<T>;
  /** Calls back once the transaction is committed. */
  readonly afterCommit: (work: () => void) => void;
  /** Called after the commit with the stored results, each once. */
  readonly onStored?: (results: readonly ReportedResult[]) => void;
  /** Whether repeating the transaction may help (deadlock, serialization failure). */
  readonly isTransient: (error: unknown) => boolean;
  /** Uses the connection of the transaction, if there is one: it must not wait for another. */
  readonly timeOf: (kysely: Kysely<Schema>) => Promise<number>;
}

const ATTEMPTS = 4;

/**
 * Joins the current transaction, or starts one and retries it when it conflicts with another.
 * Rejects with `unavailable` if every attempt conflicts.
 */
export async function inTransaction<T>(
  database: Database,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  if (database.kysely.isTransaction) return work(database);
  for (let attempt = 1; ; attempt += 1) {
    const committed: (() => void)[] = [];
    const afterCommit = (done: () => void): void => void committed.push(done);
    try {
      const result = await database.kysely
        .transaction()
        .execute((kysely: Transaction<Schema>) => work({ ...database, kysely, afterCommit }));
      for (const done of committed) done();
      return result;
    } catch (error) {
      if (!database.isTransient(error)) throw error;
      if (attempt === ATTEMPTS) throw collided(error);
    }
  }
}

/** https://www.postgresql.org/docs/current/errcodes-appendix.html: lock_not_available */
export const isLockTimeout = (error: unknown): boolean =>
  error instanceof Error && (codeOf(error) === "55P03" || codeOf(error.cause) === "55P03");

/**
 * Reads as of one instant, without blocking others. On SQLite, other transactions of this process
 * wait meanwhile.
 */
export const inSnapshot = <T>(
  database: Database,
  read: (snapshot: Database) => Promise<T>,
): Promise<T> =>
  database.kysely.isTransaction
    ? read(database)
    : database.kysely
        .transaction()
        .setIsolationLevel("repeatable read")
        .setAccessMode("read only")
        .execute((kysely) => read({ ...database, kysely }));

/**
 * Reads a page by the index in its order. PostgreSQL's planner has no statistics on the rows of the
 * last seconds: it assumes few, and would collect and sort them for each page.
 */
export const inIndexOrder = <T>(
  database: Database,
  read: (ordered: Database) => Promise<T>,
): Promise<T> =>
  database.rowLocks
    ? inTransaction(database, async (transaction) => {
        await sql`set local enable_bitmapscan = off`.execute(transaction.kysely);
        return read(transaction);
      })
    : read(database);

const collided = (cause: unknown): Error =>
  unavailable(`the database is too busy: a transaction collided with others ${ATTEMPTS} times`, {
    part: "the database",
    cause,
  });

/** How many rows one statement lists: it must stay within both drivers' parameter limits. */
export const ROWS_AT_ONCE = 500;

/**
 * Inserts the rows in the order given. Use the same order everywhere: transactions on the same rows
 * then wait for one another instead of deadlocking. Call it in a transaction.
 */
export async function insertRows<Column extends string>(
  { kysely, runBulk }: Database,
  insert: BulkInsert<Column>,
  rows: readonly BulkRow<Column>[],
): Promise<void> {
  if (!kysely.isTransaction) throw new Error("rows are inserted in a transaction only");
  if (rows.length > 0) await runBulk(kysely, insert, rows);
}

/** Runs the statement; on PostgreSQL, this thread does `work` meanwhile. */
export async function meanwhile<T>(
  { rowLocks }: Database,
  statement: Promise<unknown>,
  work: () => T,
): Promise<T> {
  const done = (rowLocks ? nextTurn() : statement).then(work);
  await allDone([statement, done]);
  return done;
}

/** Counts the rows that a query would return. */
export async function countAll<DB, Tables extends keyof DB>(
  query: SelectQueryBuilder<DB, Tables, object>,
): Promise<number> {
  const counted = query.clearSelect().select(sql`count(*)`.as("count"));
  return (await counted.$castTo<{ count: number }>().executeTakeFirstOrThrow()).count;
}

/** A condition on any number of values that keeps the statement's text constant. */
export const isAmong = (
  { rowLocks }: Database,
  column: string,
  values: readonly (string | number)[],
): RawBuilder<boolean> =>
  rowLocks
    ? sql`${sql.ref(column)} = any(${values})`
    : sql`${sql.ref(column)} in (select value from json_each(${JSON.stringify(values)}))`;

/** The text at this path of a JSON document; null if there is none. */
export const textAt = (
  { rowLocks }: Database,
  column: string,
  path: readonly string[],
): RawBuilder<string | null> =>
  rowLocks
    ? sql`${sql.ref(column)}::json #>> ${path}::text[]`
    : sql`json_extract(${sql.ref(column)}, ${`$.${path.join(".")}`})`;
