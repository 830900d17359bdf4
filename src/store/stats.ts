// Statistics by period, and the single results behind them. Locations and result codes are merged
// when they are read.
import { EMPTY_SUMMARY, mergeSummaries, PHASES } from "../model/summary.ts";
import type { Sample, Summary } from "../model/summary.ts";
import { periodEnd } from "../model/periods.ts";
import type { ResultCode } from "../model/result.ts";
import type { Database } from "./database.ts";
import { toSummary } from "./fold.ts";
import type { Direction, PeriodRow, StatQuery, StatStore } from "./ports/stat-store.ts";

type Row = Parameters<typeof toSummary>[0];

export function createStatStore(database: Database): StatStore {
  const { kysely } = database;
  const ofQuery = ({ call_id, kind, location_id }: StatQuery) => {
    const query = kysely
      .selectFrom("stats")
      .where("call_id", "=", call_id)
      .where("kind", "=", kind);
    return location_id === null ? query : query.where("location_id", "=", location_id);
  };
  const resultsOf = ({ call_id, location_id }: Omit<StatQuery, "kind">) => {
    const query = kysely.selectFrom("results").where("call_id", "=", call_id);
    return location_id === null ? query : query.where("location_id", "=", location_id);
  };

  return {
    async period(query, time) {
      const rows = await ofQuery(query)
        .selectAll()
        .where("period", "=", time)
        .where("count", ">", 0)
        .execute();
      return mergeRows(rows);
    },
    async periods(query, codes, from, direction, limit) {
      if (codes.length === 0) return [];
      const { beyond, order } = towards(direction);
      const periods = await ofQuery(query)
        .select("period")
        .distinct()
        .where("result", "in", codes)
        .where("count", ">", 0)
        .where("period", beyond, from)
        .orderBy("period", order)
        .limit(limit)
        .execute();
      if (periods.length === 0) return [];
      const times = periods.map(({ period }) => period);
      const rows = await ofQuery(query)
        .selectAll()
        .where("period", ">=", Math.min(...times))
        .where("period", "<=", Math.max(...times))
        .where("count", ">", 0)
        .execute();
      const byPeriod = Map.groupBy(rows, ({ period }) => period);
      return times.map((time): PeriodRow => ({
        time,
        summaries: mergeRows(byPeriod.get(time) ?? []),
      }));
    },
    async raw(query, codes, { time, afterId }, direction, limit) {
      if (codes.length === 0) return [];
      const { beyond, strictly, order } = towards(direction);
      return resultsOf(query)
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
    async rawOfPeriod(query, time) {
      const rows = await resultsOf(query)
        .select(["result", "latency", ...PHASES])
        .where("time", ">=", time)
        .where("time", "<", periodEnd(query.kind, time))
        .execute();
      return rows.map(({ result, latency, ...phases }) => ({
        result: result as ResultCode,
        latency,
        phases: phases satisfies Sample["phases"],
      }));
    },
  };
}

const towards = (direction: Direction) =>
  direction === "forwards"
    ? ({ beyond: ">=", strictly: ">", order: "asc" } as const)
    : ({ beyond: "<=", strictly: "<", order: "desc" } as const);

function mergeRows(rows: readonly Row[]): Map<ResultCode, Summary> {
  const merged = new Map<ResultCode, Summary>();
  for (const row of rows) {
    const code = row.result as ResultCode;
    merged.set(code, mergeSummaries(merged.get(code) ?? EMPTY_SUMMARY, toSummary(row)));
  }
  return merged;
}
