// Reads the inputs of a report: a call's single results, counted in the database, and its hours. An
// index covers the results (by time, or on PostgreSQL within each day): no row is read.
import { sql } from "kysely";
import type { Outlier } from "../../model/insight.ts";
import type { CountedLatency, HourResults } from "../../model/insight-report.ts";
import type { LocationSpread } from "../../model/score.ts";
import type { Database } from "../database.ts";
import { selectNumber } from "../names.ts";
import { idsOfStarts } from "../result-days.ts";

/** From `from` (inclusive) to `to` (exclusive), in epoch milliseconds. */
export interface ResultRange {
  readonly call_id: string;
  readonly from: number;
  readonly to: number;
}

/** The latency at which outliers begin at a location. */
export type Fence = Pick<LocationSpread, "location_id" | "outlier_from">;

/** How much to read or compute at once. */
interface AtOnce {
  /** Results to count with one statement; each may become a row. */
  readonly counted: number;
  /** Results to search with one statement. */
  readonly searched: number;
  /** Reports to compute concurrently. */
  readonly reports: number;
}

/** SQLite blocks the process while a statement runs: with these limits, for a few milliseconds. */
const IN_PROCESS: AtOnce = { counted: 4000, searched: 20_000, reports: 1 };

/**
 * PostgreSQL also reads the day before each range: a call may start long after its result's id was
 * made. While the server counts for one report, this process scores another.
 */
const ON_SERVER: AtOnce = { counted: 50_000, searched: 500_000, reports: 2 };

export const createInsightInputs = (database: Database) => ({
  atOnce: database.rowLocks ? ON_SERVER : IN_PROCESS,
  /** Counts results by location, code and latency, which is 0 unless they are COMPLETE. */
  latencies: (range: ResultRange): Promise<CountedLatency[]> => countLatencies(database, range),
  /** Returns the slowest outliers, at most `limit`. Uncertain results are never outliers. */
  outliers: (range: ResultRange, fences: readonly Fence[], limit: number): Promise<Outlier[]> =>
    slowest(database, range, fences, limit),
  /** Returns the hours in which the call ran, in order, all locations together. */
  hours: (range: ResultRange): Promise<HourResults[]> => readHours(database, range),
});

/** Whole milliseconds, rounded as by `latencyOf` in model/result.ts. */
const LATENCY = sql<number>`(coalesce(total, 0) + 500) / 1000`;

/** The condition of `isUncertain` in model/uncertainty.ts. */
const IS_UNCERTAIN = sql<boolean>`(uncertainty > 10000 and uncertainty * 10 > coalesce(total, 0))`;

const inRange = async (database: Database, { call_id, from, to }: ResultRange) => {
  const ids = await idsOfStarts(database, { start: from, end: to });
  return sql`call = ${selectNumber(database, call_id)} and time >= ${from} and time < ${to} and ${ids}`;
};

async function countLatencies(database: Database, range: ResultRange): Promise<CountedLatency[]> {
  const { rows } = await sql<CountedLatency>`
    select locations.name as location_id, codes.name as result, latency, count, uncertain
    from (
      select location, result,
        case when result = ${selectNumber(database, "COMPLETE")} then ${LATENCY} else 0 end as latency,
        count(*) as count,
        count(*) filter (where ${IS_UNCERTAIN}) as uncertain
      from results where ${await inRange(database, range)}
      group by 1, 2, 3
    ) counted
      join names locations on locations.id = location
      join names codes on codes.id = counted.result`.execute(database.kysely);
  return rows;
}

async function slowest(
  database: Database,
  range: ResultRange,
  fences: readonly Fence[],
  limit: number,
): Promise<Outlier[]> {
  if (fences.length === 0) return [];
  // Latencies are rounded: a total counts as 20 ms from 19.5 ms on.
  const beyond = fences.map(
    ({ location_id, outlier_from }) => sql`
      (location = ${selectNumber(database, location_id)} and total >= ${outlier_from * 1000 - 500})`,
  );
  const { rows } = await sql<Outlier>`
    select results.id as result_id, time, locations.name as location_id, ${LATENCY} as latency
    from results join names locations on locations.id = location
    where ${await inRange(database, range)} and result = ${selectNumber(database, "COMPLETE")}
      and (${sql.join(beyond, sql` or `)})
      and not coalesce(${IS_UNCERTAIN}, ${sql.lit(false)})
    order by total desc, results.id limit ${limit}`.execute(database.kysely);
  return rows;
}

async function readHours(database: Database, range: ResultRange): Promise<HourResults[]> {
  const { call_id, from, to } = range;
  const { rows } = await sql<HourResults>`
    select period as time, codes.name as result, cast(sum(count) as bigint) as count,
      sum(count * mean) / sum(count) as mean
    from stats join names codes on codes.id = stats.result
    where call = ${selectNumber(database, call_id)} and kind = ${selectNumber(database, "HOUR")}
      and period >= ${from} and period < ${to} and count > 0
    group by period, codes.name order by period, codes.name`.execute(database.kysely);
  return rows;
}
