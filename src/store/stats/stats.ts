// Statistics by period, and the single results behind them. Locations and result codes are merged
// when they are read.
import { setImmediate as nextTurn } from "node:timers/promises";
import { chunksOf } from "../../model/chunks.ts";
import { keptPartsOf, PARTS, periodEnd, periodStart } from "../../model/periods.ts";
import { latencyOf } from "../../model/result.ts";
import type { ResultCode } from "../../model/result.ts";
import type { RawResult } from "../../model/counted-result.ts";
import type { LocationSummaries } from "../../model/histogram.ts";
import { PHASES } from "../../model/timing.ts";
import type { Sample, Summary } from "../../model/summary.ts";
import type { Database } from "../database.ts";
import { isAmong } from "../database.ts";
import { selectNumber } from "../names.ts";
import type { Direction, PeriodRow, RawEntry, StatQuery } from "../records.ts";
import {
  expiredBefore,
  growingRanges,
  idsOfStarts,
  joinedHours,
  nearStarts,
} from "../result-days.ts";
import type { TimeRange } from "../result-days.ts";
import { MOST_READS } from "../results/result-pages.ts";
import { bucketsOfRow, SUMMARY_COLUMNS, summaryOfRows } from "./summary-rows.ts";
import type { SummaryRow } from "./summary-rows.ts";

export const createStatStore = (database: Database) => ({
  period: (query: StatQuery, time: number) => readPeriod(database, query, time),
  /**
   * Periods that have results with these codes: forwards from the one that starts at `from`, oldest
   * first, or backwards from it, newest first; both inclusive.
   */
  async periods(
    query: StatQuery,
    codes: readonly ResultCode[],
    from: number,
    direction: Direction,
    limit: number,
  ): Promise<PeriodRow[]> {
    if (codes.length === 0) return [];
    const bound = direction === "forwards" ? from : periodEnd(query.kind, from) - 1;
    const { beyond, order } = ORDERS[direction];
    const parts = statRows(database, query)
      .select("period")
      .distinct()
      .where("codes.name", "in", codes)
      .where("period", beyond, bound)
      .orderBy("period", order)
      .limit(limit * MOST_PARTS[query.kind]);
    for (let reads = 1; ; reads += 1) {
      const found = await parts.execute();
      const times = new Set(found.map(({ period }) => periodStart(query.kind, period)));
      const rows = await readPeriods(database, query, [...times].slice(0, limit));
      // If not all fit, a late result has replaced the last MISSED one of a period in between.
      const fit = rows.filter(({ summaries }) => codes.some((code) => summaries.has(code)));
      if (fit.length === rows.length || reads === MOST_READS) return rows;
    }
  },
  /** The periods that start at these times, with or without calls. */
  periodsAt: (query: StatQuery, times: readonly number[]) => readPeriods(database, query, times),
  /** The summaries of all periods that start at these times, merged by location. */
  byLocation: (query: StatQuery, times: readonly number[]) => readLocations(database, query, times),
  /** Single results with these codes from `from` on; of those at `from`, only beyond `afterId`. */
  async raw(
    query: Omit<StatQuery, "kind">,
    codes: readonly ResultCode[],
    from: RawStart,
    direction: Direction,
    limit: number,
  ): Promise<RawEntry[]> {
    if (codes.length === 0) return [];
    const found: RawEntry[] = [];
    const near = await nearStarts(database);
    for await (const range of rangesWith(database, query, codes, from.time, direction, limit)) {
      const left = limit - found.length;
      const rows = rawQuery(database, query, codes, { ...from, ...range }, direction, left);
      for (const { total, ...row } of await rows.where(near(range)).execute())
        found.push({ ...row, latency: latencyOf(total) });
      if (found.length >= limit) break;
    }
    return found;
  },
  /** Every result of a period: what its statistics count, unless retention has removed some. */
  rawOfPeriod: (query: StatQuery, time: number) => readRaw(database, query, time),
});

export interface RawStart {
  readonly time: number;
  readonly afterId: string | null;
}

export function rawQuery(
  database: Database,
  query: Omit<StatQuery, "kind">,
  codes: readonly ResultCode[],
  { time, afterId, start, end }: RawStart & TimeRange,
  direction: Direction,
  limit: number,
) {
  const { strictly, order } = ORDERS[direction];
  // One bound per side: with two, SQLite would seek by the first, and read up to the other.
  const isForwards = direction === "forwards";
  return resultRows(database, query)
    .select(["results.id", "time", "total", "http_code", "response_size as content_length"])
    .where("codes.name", "in", codes)
    .where("time", ">=", isForwards ? Math.max(start, time) : start)
    .where("time", "<", isForwards ? end : Math.min(end, time + 1))
    .$if(afterId !== null, (rows) =>
      rows.where((eb) => eb.or([eb("time", strictly, time), eb("results.id", strictly, afterId)])),
    )
    .orderBy("time", order)
    .orderBy("results.id", order)
    .limit(limit);
}

/**
 * Yields where to search for `limit` results: the hours whose statistics count any; these may have
 * been removed. A rare code or location thus needs no index, which would slow inserts.
 */
async function* rangesWith(
  database: Database,
  { call_id, location_id }: Omit<StatQuery, "kind">,
  codes: readonly ResultCode[],
  from: number,
  direction: Direction,
  limit: number,
): AsyncGenerator<TimeRange> {
  const areMost = codes.length > 1 && codes.includes("COMPLETE") && location_id === null;
  if (areMost) {
    yield* growingRanges(database, from, direction);
    return;
  }
  const { beyond, order, step } = ORDERS[direction];
  const hours = statRows(database, { call_id, location_id, kind: "HOUR" })
    .select("period")
    .distinct()
    .where("codes.name", "in", codes)
    .where("period", ">=", await expiredBefore(database))
    .orderBy("period", order)
    .limit(limit + 1); // all results of the first hour may be on the other side of `from`
  for (let [start, size] = [periodStart("HOUR", from), Infinity]; size > limit;) {
    const found = await hours.where("period", beyond, start).execute();
    yield* joinedHours(found.map(({ period }) => period));
    size = found.length;
    start = (found.at(-1)?.period ?? start) + step;
  }
}

const ORDERS = {
  forwards: { beyond: ">=", strictly: ">", order: "asc", step: 1 },
  backwards: { beyond: "<=", strictly: "<", order: "desc", step: -1 },
} as const;

const MOST_PARTS = { HOUR: 1, DAY: 1, WEEK: 7, MONTH: 1, YEAR: 12 } as const;

/** Selects statistics of the parts that make up periods of this kind. */
function statRows(database: Database, { call_id, kind, location_id }: StatQuery) {
  const query = database.kysely
    .selectFrom("stats")
    .innerJoin("names as codes", "codes.id", "stats.result")
    .where("call", "=", selectNumber(database, call_id))
    .where("kind", "=", selectNumber(database, PARTS[kind]))
    .where("count", ">", 0);
  return location_id === null
    ? query
    : query.where("location", "=", selectNumber(database, location_id));
}

function resultRows(database: Database, { call_id, location_id }: Omit<StatQuery, "kind">) {
  const query = database.kysely
    .selectFrom("results")
    .innerJoin("names as codes", "codes.id", "results.result")
    .where("call", "=", selectNumber(database, call_id));
  return location_id === null
    ? query
    : query.where("location", "=", selectNumber(database, location_id));
}

/** Parts per statement: it blocks the process if the database is embedded. */
const PARTS_AT_ONCE = 12;

async function readPeriods(
  database: Database,
  query: StatQuery,
  times: readonly number[],
): Promise<PeriodRow[]> {
  const periods: PeriodRow[] = [];
  for (const some of chunksOf(times, Math.floor(PARTS_AT_ONCE / MOST_PARTS[query.kind]))) {
    const parts = some.flatMap((time) => keptPartsOf(query.kind, time));
    const rows: StatRow[] = await rowsAt(database, query, parts).execute();
    const byPeriod = Map.groupBy(rows, ({ period }) => periodStart(query.kind, period));
    for (const time of some) periods.push({ time, summaries: mergeRows(byPeriod.get(time) ?? []) });
    await nextTurn();
  }
  return periods;
}

const readPeriod = async (database: Database, query: StatQuery, time: number) =>
  mergeRows(await rowsAt(database, query, keptPartsOf(query.kind, time)).execute());

async function readLocations(
  database: Database,
  query: StatQuery,
  times: readonly number[],
): Promise<LocationSummaries> {
  const rows: (StatRow & { readonly place: string })[] = [];
  const parts = times.flatMap((time) => keptPartsOf(query.kind, time));
  for (const some of chunksOf(parts, PARTS_AT_ONCE)) {
    const found = rowsAt(database, query, some)
      .innerJoin("names as places", "places.id", "location")
      .select("places.name as place");
    rows.push(...(await found.execute()));
    await nextTurn();
  }
  const byPlace = Map.groupBy(rows, ({ place }) => place);
  return new Map([...byPlace].map(([place, ofPlace]) => [place, mergeRows(ofPlace)]));
}

type StatRow = SummaryRow & { readonly period: number; readonly code: string };

/** Selects only the parts that start at these times: years may lie between them. */
const rowsAt = (database: Database, query: StatQuery, parts: readonly number[]) =>
  statRows(database, query)
    .select(["period", "codes.name as code", ...SUMMARY_COLUMNS])
    .select(bucketsOfRow(database).as("buckets"))
    .where(isAmong(database, "period", parts));

async function readRaw(database: Database, query: StatQuery, time: number): Promise<RawResult[]> {
  const end = periodEnd(query.kind, time);
  const rows = await resultRows(database, query)
    .select(["codes.name as code", "total", ...PHASES])
    .where(await idsOfStarts(database, { start: time, end }))
    .where("time", ">=", time)
    .where("time", "<", end)
    .execute();
  return rows.map(({ code, total, ...phases }) => ({
    result: code as ResultCode,
    latency: latencyOf(total),
    phases: phases satisfies Sample["phases"],
  }));
}

function mergeRows(rows: readonly StatRow[]): Map<ResultCode, Summary> {
  const byCode = Map.groupBy(rows, ({ code }) => code as ResultCode);
  return new Map([...byCode].map(([code, ofCode]) => [code, summaryOfRows(ofCode)]));
}
