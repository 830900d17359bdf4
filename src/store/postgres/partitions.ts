// The daily tables that make up results and their details on PostgreSQL: created ahead of time, and
// dropped whole. SQLite has none.
import { setTimeout as pause } from "node:timers/promises";
import { sql } from "kysely";
import type { RawBuilder } from "kysely";
import { formatInstant } from "../../model/instant.ts";
import { DAY_MS, periodEnd, periodStart } from "../../model/periods.ts";
import { decodeTime, encodeTime } from "../../runtime/ids.ts";
import { isLockTimeout } from "../database.ts";
import type { Database } from "../database.ts";

const DAYS_AHEAD = 3;

/** Later transactions queue behind a waiting lock, so this one retries instead. */
const LOCK_TIMEOUT = "50ms";
const LOCK_ATTEMPTS = 5;
const LOCK_PAUSE_MS = 100;

export type DividedTable = "results" | "result_details";
const ID_COLUMNS = { results: "id", result_details: "result_id" } as const;

export interface Partition {
  readonly name: string;
  /** The first id; "" for the table of all rows that are older than the daily tables. */
  readonly from: string;
  /** Exclusive. */
  readonly to: string;
}

/** Returns the tables, oldest first, without the one for all other ids. */
export async function partitionsOf(
  { kysely, rowLocks }: Database,
  table: DividedTable,
): Promise<readonly Partition[]> {
  if (!rowLocks) return [];
  const { rows } = await sql<{ name: string; bound: string }>`
    select relname as name, pg_get_expr(relpartbound, oid) as bound
    from pg_class join pg_inherits on inhrelid = oid
    where inhparent = ${table}::regclass`.execute(kysely);
  return rows
    .flatMap(({ name, bound }) => {
      const [, from = "", to] = /FROM \((?:MINVALUE|'(\w*)')\) TO \('(\w+)'\)/.exec(bound) ?? [];
      return to === undefined ? [] : [{ name, from, to }];
    })
    .toSorted((a, b) => (a.to < b.to ? -1 : 1));
}

/**
 * Creates the tables of today and the next three days. Results of other days go into a default
 * table, from which expired rows are removed one by one.
 */
export async function makePartitions(database: Database, now: number): Promise<void> {
  if (!database.rowLocks) return;
  for (const table of ["results", "result_details"] as const) {
    const made = await partitionsOf(database, table);
    const isMade = (first: string) => made.some(({ from, to }) => from <= first && first < to);
    for (let ahead = 0; ahead <= DAYS_AHEAD; ahead += 1) {
      const day = periodStart("DAY", now) + ahead * DAY_MS;
      if (!isMade(encodeTime(day))) await makeDay(database, table, day);
    }
  }
}

/** Locks the parent table for a moment, and only against other changes of its partitions. */
async function makeDay(database: Database, table: DividedTable, day: number): Promise<void> {
  const { from, to } = boundsOf(day);
  const id = sql.ref(ID_COLUMNS[table]);
  const others = sql.table(`${table}_default`);
  await withLock(database, async (run) => {
    const { rows } = await run(
      sql`select 1 from ${others} where ${id} >= ${from} and ${id} < ${to} limit 1`,
    );
    if (rows.length === 0) await attachDay(run, table, day);
  });
}

async function attachDay(run: Run, table: DividedTable, day: number): Promise<void> {
  const { from, to } = boundsOf(day);
  const [made, parent] = [sql.table(partitionName(table, day)), sql.table(table)];
  await run(sql`create table ${made} (like ${parent})`);
  await run(sql`
    alter table ${parent} attach partition ${made}
    for values from (${sql.lit(from)}) to (${sql.lit(to)})`);
}

const boundsOf = (day: number): Pick<Partition, "from" | "to"> => ({
  from: encodeTime(day),
  to: encodeTime(periodEnd("DAY", day)),
});

const partitionName = (table: DividedTable, day: number): string =>
  `${table}_${formatInstant(day).slice(0, 10).replaceAll("-", "")}`;

/** Returns false if other transactions use the table all the time. */
export const dropPartition = (database: Database, { name }: Partition): Promise<boolean> =>
  // PostgreSQL rejects `detach … concurrently` where there is a default partition.
  withLock(database, async (run) => void (await run(sql`drop table ${sql.table(name)}`)));

type Run = (statement: RawBuilder<unknown>) => Promise<{ readonly rows: readonly unknown[] }>;

/** Runs `work` in one transaction; returns false if every attempt to lock a table timed out. */
async function withLock({ kysely }: Database, work: (run: Run) => Promise<void>): Promise<boolean> {
  for (let attempt = 1; attempt <= LOCK_ATTEMPTS; attempt += 1) {
    try {
      await kysely.transaction().execute(async (transaction) => {
        await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT)}`.execute(transaction);
        await work((statement) => statement.execute(transaction));
      });
      return true;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      await pause(LOCK_PAUSE_MS);
    }
  }
  return false;
}

/**
 * Creates, in an empty database, a table for each day of the ids to be inserted, replacing the
 * existing ones. `nextId` returns the first id at or after a text. Call it in a transaction.
 */
export async function divideByDays(
  database: Database,
  table: DividedTable,
  nextId: (from: string) => string | undefined,
): Promise<void> {
  const { kysely } = database;
  for (const { name } of await partitionsOf(database, table))
    await sql`drop table ${sql.table(name)}`.execute(kysely);
  for (let id = nextId(""); id !== undefined;) {
    const day = periodStart("DAY", decodeTime(id));
    await attachDay((statement) => statement.execute(kysely), table, day);
    id = nextId(encodeTime(periodEnd("DAY", day)));
  }
}
