// Statistics by period, and the single results behind them. Locations and result codes are merged
// when they are read.
import type { Selectable } from "kysely";
import { periodEnd } from "../model/periods.ts";
import type { RawResult, ResultCode } from "../model/result.ts";
import type { PeriodSummaries } from "../model/stat.ts";
import { EMPTY_SUMMARY, mergeSummaries, PHASES } from "../model/summary.ts";
import type { Sample, Summary } from "../model/summary.ts";
import type { Database } from "./database.ts";
import { toSummary } from "./fold.ts";
import type { Direction, PeriodRow, RawEntry, StatQuery } from "./records.ts";
import type { Schema } from "./schema.ts";

export type StatStore = ReturnType<typeof createStatStore>;

export const createStatStore = (database: Database) => ({
  async period(query: StatQuery, time: number): Promise<PeriodSummaries> {
    const rows = countedRows(database, query).where("period", "=", time);
    return mergeRows(await rows.selectAll().execute());
  },
  /**
   * Periods with calls of these codes: forwards from the one that starts at `from`, oldest first,
   * or backwards from it, newest first; both inclusive.
   */
  async periods(
    query: StatQuery,
    codes: readonly ResultCode[],
    from: number,
    direction: Direction,
    limit: number,
  ): Promise<PeriodRow[]> {
    if (codes.length === 0) return [];
    const { beyond, order } = ORDERS[direction];
    const found = await countedRows(database, query)
      .select("period")
      .distinct()
      .where("result", "in", codes)
      .where("period", beyond, from)
      .orderBy("period", order)
      .limit(limit)
      .execute();
    const times = found.map(({ period }) => period);
    return times.length === 0 ? [] : readPeriods(database, query, times);
  },
  /**
   * Single results with these codes from `from` (inclusive) on; `afterId` excludes those at `from`
   * up to that id.
   */
  async raw(
    query: Omit<StatQuery, "kind">,
    codes: readonly ResultCode[],
    { time, afterId }: { readonly time: number; readonly afterId: string | null },
    direction: Direction,
    limit: number,
  ): Promise<RawEntry[]> {
    if (codes.length === 0) return [];
    const { beyond, strictly, order } = ORDERS[direction];
    return resultRows(database, query)
      .select(["id", "time", "latency", "http_code", "content_length"])
      .where("result", "in", codes)
      .where("time", beyond, time)
      .$if(afterId !== null, (rows) =>
        rows.where((eb) => eb.or([eb("time", strictly, time), eb("id", strictly, afterId)])),
      )
      .orderBy("time", order)
      .orderBy("id", order)
      .limit(limit)
      .execute();
  },
  /** The results of a period, to compute its statistics again. */
  rawOfPeriod: (query: StatQuery, time: number): Promise<RawResult[]> =>
    readRaw(database, query, time),
});

const ORDERS = {
  forwards: { beyond: ">=", strictly: ">", order: "asc" },
  backwards: { beyond: "<=", strictly: "<", order: "desc" },
} as const;

function countedRows({ kysely }: Database, { call_id, kind, location_id }: StatQuery) {
  const query = kysely
    .selectFrom("stats")
    .where("call_id", "=", call_id)
    .where("kind", "=", kind)
    .where("count", ">", 0);
  return location_id === null ? query : query.where("location_id", "=", location_id);
}

function resultRows({ kysely }: Database, { call_id, location_id }: Omit<StatQuery, "kind">) {
  const query = kysely.selectFrom("results").where("call_id", "=", call_id);
  return location_id === null ? query : query.where("location_id", "=", location_id);
}

async function readPeriods(
  database: Database,
  query: StatQuery,
  times: readonly number[],
): Promise<PeriodRow[]> {
  const rows = await countedRows(database, query)
    .selectAll()
    .where("period", ">=", Math.min(...times))
    .where("period", "<=", Math.max(...times))
    .execute();
  const byPeriod = Map.groupBy(rows, ({ period }) => period);
  return times.map((time) => ({ time, summaries: mergeRows(byPeriod.get(time) ?? []) }));
}

async function readRaw(database: Database, query: StatQuery, time: number): Promise<RawResult[]> {
  const rows = await resultRows(database, query)
    .select(["result", "latency", ...PHASES])
    .where("time", ">=", time)
    .where("time", "<", periodEnd(query.kind, time))
    .execute();
  return rows.map(({ result, latency, ...phases }) => ({
    result: result as ResultCode,
    latency,
    phases: phases satisfies Sample["phases"],
  }));
}

function mergeRows(rows: readonly Selectable<Schema["stats"]>[]): Map<ResultCode, Summary> {
  const merged = new Map<ResultCode, Summary>();
  for (const row of rows) {
    const code = row.result as ResultCode;
    merged.set(code, mergeSummaries(merged.get(code) ?? EMPTY_SUMMARY, toSummary(row)));
  }
  return merged;
}
