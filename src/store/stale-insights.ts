// Which insights reports are to be computed: a mark for each. Marks are made when a period closes,
// and when results change one that has closed.
import { sql } from "kysely";
import type { Selectable } from "kysely";
import { closedBetween, INSIGHT_KINDS, kindOf, REPORT_TYPES } from "../model/insight.ts";
import type { InsightKey, InsightKind } from "../model/insight.ts";
import { periodEnd, periodStart } from "../model/periods.ts";
import type { BulkInsert } from "./bulk.ts";
import type { Database } from "./database.ts";
import { inTransaction, insertRows, isAmong } from "./database.ts";
import type { CountedPlace } from "./fold.ts";
import { createLeaseStore } from "./leases.ts";
import { numberOf } from "./names.ts";
import type { Lease } from "./records.ts";
import type { Schema } from "./schema.ts";

/** Its cursor: all periods that had closed by then have been marked. */
export const INSIGHTS_LEASE = "insights";

/** A report that is to be computed. `version` tells whether the mark was renewed since. */
export interface StaleInsight extends InsightKey {
  readonly version: number;
}

export const createInsightMarks = (database: Database) => ({
  /**
   * Marks the reports of all periods that closed after the lease's cursor and up to `until`, for
   * the calls that ran in them, and moves the cursor there: both or neither. Returns how many
   * periods; undefined where the lease has been lost.
   */
  markClosed: (lease: Lease, until: number): Promise<number | undefined> =>
    inTransaction(database, (transaction) => markClosed(transaction, lease, until)),
  /** Marks the reports of these periods: of one call, or of all that ran in them. */
  markPeriods: (from: number, until: number, callId?: string): Promise<number> =>
    inTransaction(database, (transaction) => markPeriods(transaction, from, until, callId)),
  /** Marked reports of periods that closed by `until`, oldest first; those beyond `after` only. */
  listStale: (
    until: number,
    after: StaleInsight | undefined,
    limit: number,
  ): Promise<StaleInsight[]> => listStale(database, until, after, limit),
  /** Results and statistics of this time or later are still needed for reports. */
  neededSince: (): Promise<number> => neededSince(database),
});

/**
 * Marks the reports of the closed periods in which results are recorded or replaced, in the
 * transaction that records them. Nothing has to be marked before a period has closed: then all of
 * it is.
 */
export async function markLate(
  database: Database,
  places: readonly Pick<CountedPlace, "call_id" | "time">[],
  callNumberOf: (callId: string) => number,
): Promise<void> {
  const now = await database.timeOf(database.kysely);
  const newest = Math.max(...INSIGHT_KINDS.map((kind) => periodStart(kind, now)));
  const late = places.filter(({ time }) => time < newest);
  if (late.length === 0) return;
  const rows = new Map<string, StaleRow>();
  for (const { call_id, time } of late)
    for (const kind of INSIGHT_KINDS)
      if (periodEnd(kind, time) <= now) {
        const row = toStaleRow({ kind, start: periodStart(kind, time) }, callNumberOf(call_id));
        rows.set(`${row.start}|${row.report_type}|${row.call}`, row);
      }
  // In one order everywhere: transactions that mark the same reports then do not deadlock.
  const ordered = [...rows.values()].toSorted(
    (a, b) => a.start - b.start || a.report_type - b.report_type || a.call - b.call,
  );
  await insertRows(database, MARK, ordered);
}

type StaleRow = Selectable<Schema["stale_insights"]>;

const toStaleRow = ({ kind, start }: Omit<InsightKey, "call_id">, call: number): StaleRow => ({
  start,
  report_type: REPORT_TYPES[kind],
  call,
  version: 0,
});

const MARK: BulkInsert<keyof StaleRow> = {
  into: "stale_insights",
  columns: { start: "bigint", report_type: "integer", call: "integer", version: "bigint" },
  onConflict: `on conflict (start, report_type, call)
    do update set version = stale_insights.version + 1`,
};

async function markClosed(
  database: Database,
  lease: Lease,
  until: number,
): Promise<number | undefined> {
  const from = lease.cursor ?? (await oldestDay(database)) ?? until;
  const isHeld = await createLeaseStore(database).advance(lease, Math.max(from, until));
  return isHeld ? markPeriods(database, from, until) : undefined;
}

async function oldestDay(database: Database): Promise<number | undefined> {
  const row = await database.kysely
    .selectFrom("stats")
    .select("period")
    .where("kind", "=", numberOf(database, "DAY"))
    .orderBy("period")
    .limit(1)
    .executeTakeFirst();
  return row?.period;
}

async function markPeriods(
  database: Database,
  from: number,
  until: number,
  callId?: string,
): Promise<number> {
  const closed = closedBetween(from, until);
  for (const { kind, start } of closed) {
    const days = isAmong(database, "period", daysOf(kind, start));
    const ofCall = callId === undefined ? sql`` : sql`and call = ${numberOf(database, callId)}`;
    await sql`
      insert into stale_insights (start, report_type, call, version)
      select distinct ${sql.lit(start)}, ${sql.lit(REPORT_TYPES[kind])}, call, 0 from stats
      where kind = ${numberOf(database, "DAY")} and ${days} and count > 0 ${ofCall}
      on conflict (start, report_type, call)
        do update set version = stale_insights.version + 1`.execute(database.kysely);
  }
  return closed.length;
}

const DAY_MS = 24 * 3_600_000;

const daysOf = (kind: InsightKind, start: number): number[] =>
  Array.from(
    { length: (periodEnd(kind, start) - start) / DAY_MS },
    (_, day) => start + day * DAY_MS,
  );

async function listStale(
  database: Database,
  until: number,
  after: StaleInsight | undefined,
  limit: number,
): Promise<StaleInsight[]> {
  const rows = await database.kysely
    .selectFrom("stale_insights")
    .innerJoin("names as calls", "calls.id", "stale_insights.call")
    .select(["start", "report_type", "version", "calls.name as call_id"])
    .where((eb) =>
      eb.or(
        INSIGHT_KINDS.map((kind) =>
          eb.and([
            eb("report_type", "=", REPORT_TYPES[kind]),
            eb("start", "<", periodStart(kind, until)),
          ]),
        ),
      ),
    )
    .$if(after !== undefined, (query) => query.where(isBeyond(database, after as StaleInsight)))
    .orderBy("start")
    .orderBy("report_type")
    .orderBy("call")
    .limit(limit)
    .execute();
  return rows.map(({ report_type, ...row }) => ({ ...row, kind: kindOf(report_type) }));
}

const isBeyond = (database: Database, { start, kind, call_id }: InsightKey) =>
  sql<boolean>`(start, report_type, call) >
    (${start}, ${REPORT_TYPES[kind]}, ${numberOf(database, call_id)})`;

/** Unless the mark has been renewed since it was read. */
export async function unmark(
  { kysely, ...database }: Database,
  { start, kind, call_id, version }: StaleInsight,
): Promise<void> {
  await kysely
    .deleteFrom("stale_insights")
    .where("start", "=", start)
    .where("report_type", "=", REPORT_TYPES[kind])
    .where("call", "=", numberOf({ kysely, ...database }, call_id))
    .where("version", "=", version)
    .execute();
}

async function neededSince(database: Database): Promise<number> {
  const lease = await database.kysely
    .selectFrom("leases")
    .select("cursor")
    .where("name", "=", INSIGHTS_LEASE)
    .executeTakeFirst();
  const stale = await database.kysely
    .selectFrom("stale_insights")
    .select("start")
    .orderBy("start")
    .limit(1)
    .executeTakeFirst();
  const cursor = lease?.cursor ?? 0;
  const open = INSIGHT_KINDS.map((kind) => periodStart(kind, cursor));
  return Math.min(...open, stale?.start ?? Infinity);
}
