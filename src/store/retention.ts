// Removes what has expired, the oldest first, in batches that their caller sizes and paces.
import { sql } from "kysely";
import type { RawBuilder } from "kysely";
import { expiredIdsBefore, RETENTION_LEASE } from "../model/retention.ts";
import type { Batch, ExpiringKind, KeptFrom, Removed } from "../model/retention.ts";
import { decodeTime, encodeTime } from "../runtime/ids.ts";
import type { Database } from "./database.ts";
import { inTransaction, isAmong } from "./database.ts";
import { removeHours, removePercentiles } from "./expired-stats.ts";
import { numberOf } from "./names.ts";

export type RetentionStore = ReturnType<typeof createRetentionStore>;

export const createRetentionStore = (database: Database) => ({
  /** Removes one batch, in one transaction. */
  remove: (kind: ExpiringKind, batch: Batch): Promise<Removed> =>
    inTransaction(database, (transaction) => REMOVALS[kind](transaction, batch)),
  /** All results that started then or later are there: none of them has been removed. */
  async completeSince(): Promise<number> {
    const leases = database.kysely.selectFrom("leases").select("cursor");
    const lease = await leases.where("name", "=", RETENTION_LEASE).executeTakeFirst();
    return lease?.cursor ?? 0;
  },
  /** The time of the oldest row that is not expired; null where there is none. */
  async oldestKept(kind: ExpiringKind, kept: KeptFrom): Promise<number | null> {
    const { rows } = await OLDEST[kind](database, kept).execute(database.kysely);
    const oldest = rows[0]?.oldest ?? null;
    return typeof oldest === "string" ? decodeTime(oldest) : oldest;
  },
});

/** A table whose key begins with a time. */
interface TableById {
  readonly table: string;
  readonly id: string;
  readonly keptFrom: (kept: KeptFrom) => number;
  /** Of a row: it started before. */
  readonly startedBefore: (time: number) => RawBuilder<boolean>;
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
  startedBefore: (time) => sql`not exists (
    select 1 from results where results.id = result_details.result_id and results.time >= ${time}
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
  { table, id, keptFrom, startedBefore }: TableById,
  { kept, after = [""], limit, dryRun = false }: Batch,
): Promise<Removed> {
  const from = keptFrom(kept);
  const [rows, key] = [sql.table(table), sql.ref(id)];
  const isAfter = sql`${key} > ${after[0]}`;
  const { rows: seen } = await sql<{ last: string | null; count: number }>`
    select max(id) as last, count(*) as count from (
      select ${key} as id from ${rows}
      where ${isAfter} and ${key} < ${encodeTime(expiredIdsBefore(from))}
      order by ${key} limit ${limit}
    ) as expired`.execute(kysely);
  const { last = null, count = 0 } = seen[0] ?? {};
  if (last === null) return { rows: 0, next: undefined };
  const next = count < limit ? undefined : [last];
  const chosen = sql`from ${rows} where ${isAfter} and ${key} <= ${last} and ${startedBefore(from)}`;
  if (dryRun) {
    const counted = await sql<{ rows: number }>`select count(*) as rows ${chosen}`.execute(kysely);
    return { rows: counted.rows[0]?.rows ?? 0, next };
  }
  const { numAffectedRows = 0n } = await sql`delete ${chosen}`.execute(kysely);
  return { rows: Number(numAffectedRows), next };
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
  return { rows: found.length, next };
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

const oldestPeriod =
  (kind: "HOUR" | "DAY"): Oldest =>
  (database, { hours }) => sql`
    select min(period) as oldest from stats
    where kind = (${numberOf(database, kind)}) and period >= ${hours}`;

const OLDEST: Readonly<Record<ExpiringKind, Oldest>> = {
  details: oldestId(DETAILS),
  workflow_results: oldestId(WORKFLOW_RESULTS),
  results: oldestId(RESULTS),
  hours: oldestPeriod("HOUR"),
  percentiles: oldestPeriod("DAY"),
  audit: (_, { audit }) => sql`select min(time) as oldest from audit where time >= ${audit}`,
};
