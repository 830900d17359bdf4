// Marks the insights reports to compute: when a period closes, and when results change a closed
// period.
import { sql } from "kysely";
import type { Selectable } from "kysely";
import { INSIGHT_KINDS, INSIGHTS_LEASE, kindOf, REPORT_TYPES } from "../../model/insight.ts";
import type { InsightKey, InsightPeriod, StaleInsight } from "../../model/insight.ts";
import { keptPartsOf, PARTS, periodEnd, periodStart } from "../../model/periods.ts";
import type { BulkInsert } from "../bulk.ts";
import type { Database } from "../database.ts";
import { inTransaction, insertRows, isAmong } from "../database.ts";
import { cursorOf } from "../leases.ts";
import { keep, numberNames, selectNumber } from "../names.ts";
import type { Schema } from "../schema.ts";
import type { CountedPlace } from "../stats/fold.ts";

/** Progress of marking a period: a part of it, and the last call in that part. */
export interface MarkPlace {
  readonly part: number;
  readonly call: number;
}

export const createInsightMarks = (database: Database) => ({
  /**
   * Marks the reports of this period, for at most `limit` calls that ran in it and come after the
   * place. Returns where to continue; undefined at the end. An existing mark stays as it is.
   */
  mark: (
    period: InsightPeriod,
    after: MarkPlace | undefined,
    limit: number,
  ): Promise<MarkPlace | undefined> => markPage(database, period, after, limit),
  /** Marks the report, or renews its mark. */
  renewMark: (key: InsightKey): Promise<StaleInsight> =>
    inTransaction(database, (transaction) => renewMark(transaction, key)),
  /** The calls that ran in the period, in the order of their ids: all, or `callId` only. */
  callsIn: (period: InsightPeriod, callId?: string): Promise<string[]> =>
    readCalls(database, period, callId),
  /** Marked reports of periods that closed by `until`, oldest first, starting after `after`. */
  listStale: (
    until: number,
    after: StaleInsight | undefined,
    limit: number,
  ): Promise<StaleInsight[]> => listStale(database, until, after, limit),
  /** The first day with a result; undefined without any. */
  firstDay: (): Promise<number | undefined> => firstDay(database),
  /** Results and statistics of this time or later are still needed for reports. */
  neededSince: (): Promise<number> => neededSince(database),
});

/**
 * Marks the reports of closed periods in which results are recorded or replaced, in the transaction
 * that records them. An open period needs no marks: it gets all of them when it closes. If the
 * clock was ahead, periods that are still open may have theirs already.
 */
export async function markLate(
  database: Database,
  places: readonly Pick<CountedPlace, "call_id" | "time">[],
  numberOf: (callId: string) => number,
): Promise<void> {
  const now = await database.timeOf(database.kysely);
  const marked = Math.max(now, (await cursorOf(database, INSIGHTS_LEASE)) ?? now);
  const newest = Math.max(...INSIGHT_KINDS.map((kind) => periodStart(kind, marked)));
  const late = places.filter(({ time }) => time < newest);
  const rows = new Map<string, StaleRow>();
  for (const { call_id, time } of late)
    for (const kind of INSIGHT_KINDS)
      if (periodEnd(kind, time) <= marked) {
        const period = { kind, start: periodStart(kind, time) };
        const row = toStaleRow(period, numberOf(call_id), now);
        rows.set(`${row.start}|${row.report_type}|${row.call}`, row);
      }
  await insertRows(database, RENEW, inOrder([...rows.values()]));
}

type StaleRow = Selectable<Schema["stale_insights"]>;

/** A mark that is made again after its removal gets another version. */
const toStaleRow = ({ kind, start }: InsightPeriod, call: number, now: number): StaleRow => ({
  start,
  report_type: REPORT_TYPES[kind],
  call,
  version: now,
});

/** The same order everywhere: transactions that mark the same reports must not deadlock. */
const inOrder = (rows: readonly StaleRow[]): StaleRow[] =>
  rows.toSorted((a, b) => a.start - b.start || a.report_type - b.report_type || a.call - b.call);

const MARK: BulkInsert<keyof StaleRow> = {
  into: "stale_insights",
  columns: { start: "bigint", report_type: "integer", call: "integer", version: "bigint" },
  onConflict: "on conflict (start, report_type, call) do nothing",
};

const RENEW: BulkInsert<keyof StaleRow> = {
  ...MARK,
  onConflict: `on conflict (start, report_type, call)
    do update set version = stale_insights.version + 1`,
};

/** Selects statistics of the kind that makes up such a period. */
const statsOf = (database: Database, { kind }: InsightPeriod) =>
  database.kysely.selectFrom("stats").where("kind", "=", selectNumber(database, PARTS[kind]));

async function markPage(
  database: Database,
  period: InsightPeriod,
  after: MarkPlace | undefined,
  limit: number,
): Promise<MarkPlace | undefined> {
  const parts = keptPartsOf(period.kind, period.start);
  const part = after?.part ?? period.start;
  const found = await statsOf(database, period)
    .select("call")
    .distinct()
    .where("period", "=", part)
    .where("call", ">", after?.call ?? 0)
    .orderBy("call")
    .limit(limit)
    .execute();
  const now = await database.timeOf(database.kysely);
  const rows = found.map(({ call }) => toStaleRow(period, call, now));
  await inTransaction(database, (transaction) => insertRows(transaction, MARK, rows));
  if (found.length === limit) return { part, call: found.at(-1)?.call ?? 0 };
  const next = parts[parts.indexOf(part) + 1];
  return next === undefined ? undefined : { part: next, call: 0 };
}

async function renewMark(database: Database, key: InsightKey): Promise<StaleInsight> {
  const numberOf = await numberNames(database, [key.call_id]);
  const now = await database.timeOf(database.kysely);
  const { version } = await database.kysely
    .insertInto("stale_insights")
    .values(toStaleRow(key, numberOf(key.call_id), now))
    .onConflict((conflict) =>
      conflict
        .columns(["start", "report_type", "call"])
        .doUpdateSet((eb) => ({ version: eb("stale_insights.version", "+", 1) })),
    )
    .returning("version")
    .executeTakeFirstOrThrow();
  return { ...key, version };
}

async function readCalls(
  database: Database,
  period: InsightPeriod,
  callId: string | undefined,
): Promise<string[]> {
  let query = statsOf(database, period)
    .innerJoin("names as calls", "calls.id", "stats.call")
    .select("calls.name as call_id")
    .distinct()
    .where(isAmong(database, "period", keptPartsOf(period.kind, period.start)))
    .orderBy("calls.name");
  if (callId !== undefined) query = query.where("call", "=", selectNumber(database, callId));
  return (await query.execute()).map(({ call_id }) => call_id);
}

export async function listStale(
  database: Database,
  until: number,
  after: StaleInsight | undefined,
  limit: number,
): Promise<StaleInsight[]> {
  const rows = await database.kysely
    .selectFrom("stale_insights")
    .innerJoin("names as calls", "calls.id", "stale_insights.call")
    .select(["start", "report_type", "version", "call", "calls.name as call_id"])
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
  if (!database.kysely.isTransaction)
    keep(database, new Map(rows.map(({ call, call_id }) => [call_id, call])));
  return rows.map(({ report_type, call: _call, ...row }) => ({
    ...row,
    kind: kindOf(report_type),
  }));
}

const isBeyond = (database: Database, { start, kind, call_id }: InsightKey) =>
  sql<boolean>`(start, report_type, call) >
    (${start}, ${REPORT_TYPES[kind]}, ${selectNumber(database, call_id)})`;

/** Removes the mark. False if it has been renewed or removed since it was read. */
export async function unmark(
  database: Database,
  { start, kind, call_id, version }: StaleInsight,
): Promise<boolean> {
  const { numDeletedRows } = await database.kysely
    .deleteFrom("stale_insights")
    .where("start", "=", start)
    .where("report_type", "=", REPORT_TYPES[kind])
    .where("call", "=", selectNumber(database, call_id))
    .where("version", "=", version)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

async function firstDay(database: Database): Promise<number | undefined> {
  const row = await database.kysely
    .selectFrom("stats")
    .select("period")
    .where("kind", "=", selectNumber(database, "DAY"))
    .orderBy("period")
    .limit(1)
    .executeTakeFirst();
  return row?.period;
}

async function neededSince(database: Database): Promise<number> {
  const cursor = (await cursorOf(database, INSIGHTS_LEASE)) ?? 0;
  const stale = await database.kysely
    .selectFrom("stale_insights")
    .select("start")
    .orderBy("start")
    .limit(1)
    .executeTakeFirst();
  const open = INSIGHT_KINDS.map((kind) => periodStart(kind, cursor));
  return Math.min(...open, stale?.start ?? Infinity);
}
