// Removes expired rows, oldest first, in batches sized and paced by the caller.
import { sql } from "kysely";
import type { Kysely, RawBuilder } from "kysely";
import { COUNTING_LEASE, expiredIdsBefore, PERCENTILES_LEASE } from "../model/retention.ts";
import type { Batch, ExpiringKind, KeptFrom, Removed } from "../model/retention.ts";
import { decodeTime, encodeTime } from "../runtime/ids.ts";
import type { Database } from "./database.ts";
import { inTransaction, isAmong } from "./database.ts";
import { cursorOf } from "./leases.ts";
import { selectNumber } from "./names.ts";
import { dropPartition, makePartitions, partitionsOf } from "./postgres/partitions.ts";
import type { DividedTable, Partition } from "./postgres/partitions.ts";
import { completeSince } from "./result-days.ts";
import type { Schema } from "./schema.ts";
import { removeHours, removePercentiles } from "./stats/expired-stats.ts";

export const createRetentionStore = (database: Database) => ({
  /**
   * Target duration of a batch. SQLite blocks the process meanwhile; on PostgreSQL, hardly
   * anything waits for expired rows, and small batches would mostly wait for the disk.
   */
  batchMs: database.rowLocks ? 100 : 8,
  /** Removes one batch, in one transaction. */
  remove: (kind: ExpiringKind, batch: Batch): Promise<Removed> =>
    inTransaction(database, (transaction) => REMOVALS[kind](transaction, batch)),
  /**
   * Writes a batch's pages back from the log: SQLite would first let those of many batches
   * accumulate, and then block the process for a long time.
   */
  async writeBack(): Promise<void> {
    if (!database.rowLocks) await sql`pragma wal_checkpoint(passive)`.execute(database.kysely);
  },
  /** Creates the tables for the coming days' results. */
  makeAhead: (now: number): Promise<void> => makePartitions(database, now),
  /** Drops the table of the oldest day after a place, if all its rows have expired. */
  dropDay: (kind: ExpiringKind, batch: Pick<Batch, "kept" | "after">): Promise<Removed> =>
    dropDay(database, kind, batch),
  /** Returns a time: no result that started then or later has been removed. */
  completeSince: (): Promise<number> => completeSince(database),
  /** The time from which the last removal counted back its days; null before the first. */
  lastCountedFrom: (): Promise<number | null> => cursorOf(database, COUNTING_LEASE),
  /** The time of the oldest row that has not expired; null if there is none. */
  async oldestKept(kind: ExpiringKind, kept: KeptFrom): Promise<number | null> {
    const { rows } = await OLDEST[kind](database, kept).execute(database.kysely);
    const oldest = rows[0]?.oldest ?? null;
    return typeof oldest === "string" ? decodeTime(oldest) : oldest;
  },
});

/** A table whose key begins with a time. */
interface TableById {
  readonly table: DividedTable | "workflow_results";
  readonly id: string;
  readonly keptFrom: (kept: KeptFrom) => number;
  /** The condition that a row with an id after `after`, up to `last`, started before `time`. */
  readonly startedBefore: (time: number, after: string, last: string) => RawBuilder<boolean>;
}

const RESULTS: TableById = {
  table: "results",
  id: "id",
  keptFrom: ({ raw }) => raw,
  startedBefore: (time) => sql`time < ${time}`,
};
const WORKFLOW_RESULTS: TableById = { ...RESULTS, table: "workflow_results" };
const DETAILS: TableById = {
  table: "result_details",
  id: "result_id",
  keptFrom: ({ details }) => details,
  startedBefore: (time, after, last) => sql`not exists (
    select 1 from results where results.id = result_details.result_id and results.time >= ${time}
      and results.id > ${after} and results.id <= ${last}
  )`,
};

const REMOVALS: Readonly<
  Record<ExpiringKind, (database: Database, batch: Batch) => Promise<Removed>>
> = {
  details: (database, batch) => removeByIds(database, DETAILS, batch),
  workflow_results: (database, batch) => removeByIds(database, WORKFLOW_RESULTS, batch),
  results: (database, batch) => removeByIds(database, RESULTS, batch),
  hours: removeHours,
  percentiles: removePercentiles,
  audit: removeAudit,
};

async function removeByIds(
  { kysely }: Database,
  ofTable: TableById,
  { kept, after = [""], limit, dryRun = false }: Batch,
): Promise<Removed> {
  const from = ofTable.keptFrom(kept);
  const page = { after: String(after[0]), until: encodeTime(expiredIdsBefore(from)), limit };
  const { last, count } = await readPage(kysely, ofTable, page);
  if (last === null) return { rows: 0, next: undefined };
  const next = count < limit ? undefined : [last];
  const expired = expiredRows(ofTable, page.after, last, from);
  if (dryRun) return { rows: await countRows(kysely, expired), next };
  const { numAffectedRows = 0n } = await sql`delete ${expired}`.execute(kysely);
  return { rows: Number(numAffectedRows), next };
}

/** The last id of the page of ids after `after` and before `until`, and how many it has. */
async function readPage(
  kysely: Kysely<Schema>,
  { table, id }: TableById,
  {
    after,
    until,
    limit,
  }: { readonly after: string; readonly until: string; readonly limit: number },
): Promise<{ readonly last: string | null; readonly count: number }> {
  const key = sql.ref(id);
  const { rows } = await sql<{ last: string | null; count: number }>`
    select max(id) as last, count(*) as count from (
      select ${key} as id from ${sql.table(table)}
      where ${key} > ${after} and ${key} < ${until} order by ${key} limit ${limit}
    ) as page`.execute(kysely);
  return rows[0] ?? { last: null, count: 0 };
}

const expiredRows = (
  { table, id, startedBefore }: TableById,
  after: string,
  last: string,
  kept: number,
): RawBuilder<unknown> => {
  const key = sql.ref(id);
  return sql`from ${sql.table(table)}
    where ${key} > ${after} and ${key} <= ${last} and ${startedBefore(kept, after, last)}`;
};

async function countRows(kysely: Kysely<Schema>, from: RawBuilder<unknown>): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count ${from}`.execute(kysely);
  return rows[0]?.count ?? 0;
}

/** Rows of a day that one statement examines. */
const PAGE = 20_000;

async function dropDay(
  database: Database,
  kind: ExpiringKind,
  { kept, after = [""] }: Pick<Batch, "kept" | "after">,
): Promise<Removed> {
  const ofTable = kind === "results" ? RESULTS : kind === "details" ? DETAILS : undefined;
  if (!ofTable) return { rows: 0, next: undefined };
  const from = ofTable.keptFrom(kept);
  const until = encodeTime(expiredIdsBefore(from));
  const days = await partitionsOf(database, ofTable.table as DividedTable);
  const day = days.find(({ to }) => to > String(after[0]) && to <= until);
  if (!day) return { rows: 0, next: undefined };
  const rows = await countExpired(database, ofTable, day, from);
  const isDropped = rows !== undefined && (await dropPartition(database, day));
  return { rows: isDropped ? rows : 0, next: [day.to] };
}

/** Counts the rows of a day; undefined if one of them has not expired. */
async function countExpired(
  { kysely }: Database,
  ofTable: TableById,
  day: Partition,
  kept: number,
): Promise<number | undefined> {
  let total = 0;
  for (let after = day.from; ;) {
    const { last, count } = await readPage(kysely, ofTable, { after, until: day.to, limit: PAGE });
    if (last === null) return total;
    const expired = await countRows(kysely, expiredRows(ofTable, after, last, kept));
    if (expired < count) return undefined;
    total += count;
    after = last;
  }
}

async function removeAudit(
  database: Database,
  { kept, after, limit, dryRun = false }: Batch,
): Promise<Removed> {
  const { kysely } = database;
  let rows = kysely.selectFrom("audit").select(["time", "id"]).where("time", "<", kept.audit);
  if (after) rows = rows.where(sql<boolean>`(time, id) > (${sql.join(after)})`);
  const found = await rows.orderBy("time").orderBy("id").limit(limit).execute();
  const ids = found.map(({ id }) => id);
  if (!dryRun)
    await kysely
      .deleteFrom("audit")
      .where(isAmong(database, "id", ids))
      .execute();
  const last = found.at(-1);
  const next = found.length < limit ? undefined : last && [last.time, last.id];
  if (!next && !dryRun) await removeRevokedKeys(kysely, kept.audit);
  return { rows: found.length, next };
}

/**
 * Removes the keys that no entry of the audit trail names any more. At least one key stays: a store
 * without any would be given a first one at the next start.
 */
async function removeRevokedKeys(kysely: Kysely<Schema>, before: number): Promise<void> {
  const active = kysely.selectFrom("api_keys as others").select("id").where("revoked", "=", 0);
  await kysely
    .deleteFrom("api_keys")
    .where("revoked", "=", 1)
    .where("last_update", "<", before)
    .where((eb) => eb.exists(active))
    .execute();
}

type Oldest = (
  database: Database,
  kept: KeptFrom,
) => RawBuilder<{ readonly oldest: string | number | null }>;

const oldestId =
  ({ table, id, keptFrom }: TableById): Oldest =>
  (_, kept) => {
    const first = encodeTime(expiredIdsBefore(keptFrom(kept)));
    return sql`select min(${sql.ref(id)}) as oldest from ${sql.table(table)}
      where ${sql.ref(id)} >= ${first}`;
  };

/** A shorter setting may have removed more than the present one does. */
const KEPT_PERCENTILES = sql`
  period >= coalesce((select cursor from leases where name = ${PERCENTILES_LEASE}), 0)`;

const oldestPeriod =
  (kind: "HOUR" | "DAY", condition: RawBuilder<unknown>): Oldest =>
  (database, { hours }) => sql`
    select min(period) as oldest from stats
    where kind = (${selectNumber(database, kind)}) and period >= ${hours} and ${condition}`;

const OLDEST: Readonly<Record<ExpiringKind, Oldest>> = {
  details: oldestId(DETAILS),
  workflow_results: oldestId(WORKFLOW_RESULTS),
  results: oldestId(RESULTS),
  hours: oldestPeriod("HOUR", sql`true`),
  percentiles: oldestPeriod("DAY", KEPT_PERCENTILES),
  audit: (_, { audit }) => sql`select min(time) as oldest from audit where time >= ${audit}`,
};
