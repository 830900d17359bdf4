// The columns of statistics, and their rows as summaries.
import type { RawBuilder, Selectable } from "kysely";
import { sql } from "kysely";
import { mergeMoments, NO_MOMENTS, NO_PHASES } from "../../model/summary.ts";
import type { Moments, Summary } from "../../model/summary.ts";
import { PHASES } from "../../model/timing.ts";
import type { Database } from "../database.ts";
import type { Schema } from "../schema.ts";

export const MOMENTS = ["count", "min", "max", "mean", "m2", "m3"] as const;
const PHASE_COLUMNS = PHASES.map((phase) => [phase, `${phase}_count`, `${phase}_sum`] as const);
export const PHASE_SUMS = PHASE_COLUMNS.flatMap(([, count, sum]) => [count, sum]);

/** The columns of `stats` that hold a summary; `stat_buckets` has the counters of its buckets. */
export const SUMMARY_COLUMNS = [...MOMENTS, ...PHASE_SUMS] as const;

export type SummaryRow = Pick<Selectable<Schema["stats"]>, (typeof SUMMARY_COLUMNS)[number]> & {
  /** From `bucketsOfRow`. */
  readonly buckets: string | null;
};

/** Above every bucket: a bucket and its count fit into one number below 2^53. */
const COUNT_UNIT = 2 ** 22;

/**
 * For a query of `stats`: selects a row's counters as one text. A call's year has tens of
 * thousands, and passing a row to JavaScript costs more than its counter.
 */
export function bucketsOfRow({ rowLocks }: Database): RawBuilder<string | null> {
  const counter = sql`count * ${sql.lit(COUNT_UNIT)} + bucket`;
  const counters = rowLocks ? sql`json_agg(${counter})::text` : sql`json_group_array(${counter})`;
  return sql`(select ${counters} from stat_buckets where stat_id = stats.id)`;
}

/** Merges rows of one result code. */
export const summaryOfRows = (rows: readonly SummaryRow[]): Summary => ({
  ...momentsOf(rows),
  phases: phasesOf(rows),
  buckets: bucketsOf(rows),
});

function momentsOf(rows: readonly SummaryRow[]): Moments {
  const { count, min, max, mean, m2, m3 } = rows.reduce<Moments>(mergeMoments, NO_MOMENTS);
  return { count, min, max, mean, m2, m3 };
}

function phasesOf(rows: readonly SummaryRow[]): Summary["phases"] {
  const phases = { ...NO_PHASES };
  for (const [phase, countColumn, sumColumn] of PHASE_COLUMNS) {
    let [count, sum] = [0, 0];
    for (const row of rows) {
      count += row[countColumn];
      sum += row[sumColumn];
    }
    phases[phase] = { count, sum };
  }
  return phases;
}

function bucketsOf(rows: readonly SummaryRow[]): Map<number, number> {
  const buckets = new Map<number, number>();
  for (const { buckets: text } of rows)
    for (const counter of JSON.parse(text ?? "[]") as readonly number[]) {
      const bucket = counter % COUNT_UNIT;
      buckets.set(bucket, (buckets.get(bucket) ?? 0) + Math.floor(counter / COUNT_UNIT));
    }
  return buckets;
}
