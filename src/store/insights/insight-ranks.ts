// Ranks a report among its owner's reports of the same period, from their scores at the time of
// reading.
import { sql } from "kysely";
import { identityOf } from "../../model/access.ts";
import type { Ownership } from "../../model/access.ts";
import { chunksOf } from "../../model/chunks.ts";
import { FEWEST_CALLS } from "../../model/score.ts";
import type { Database } from "../database.ts";
import { ROWS_AT_ONCE } from "../database.ts";

interface OwnPeriod extends Ownership {
  readonly report_type: number;
  readonly start: number;
}

interface Scored extends OwnPeriod {
  readonly made: number;
  readonly score: number;
}

/** How many of an owner's reports on a period have this score. */
interface ScoreCount extends OwnPeriod {
  readonly score: number;
  readonly count: number;
}

/**
 * Adds the ranks: 1 is the best, equal scores share the better rank, and −1 means no score. Each
 * period is counted once, from its index, however many of its reports are given.
 */
export async function withRanks<T extends Scored>(
  database: Database,
  rows: readonly T[],
): Promise<(T & { readonly rank: number })[]> {
  const periods = new Map<string, OwnPeriod>();
  for (const row of rows) if (row.made >= FEWEST_CALLS) periods.set(keyOf(row), row);
  const counts = Map.groupBy(await countScores(database, [...periods.values()]), keyOf);
  return rows.map((row) => ({ ...row, rank: rankAmong(row, counts.get(keyOf(row)) ?? []) }));
}

const keyOf = (of: OwnPeriod): string => `${of.report_type} ${of.start} ${identityOf(of)}`;

function rankAmong({ made, score }: Scored, counts: readonly ScoreCount[]): number {
  if (made < FEWEST_CALLS) return -1;
  return counts.reduce((rank, other) => (other.score > score ? rank + other.count : rank), 1);
}

async function countScores(
  { kysely }: Database,
  periods: readonly OwnPeriod[],
): Promise<ScoreCount[]> {
  const counted: ScoreCount[] = [];
  for (const chunk of chunksOf(periods, ROWS_AT_ONCE)) {
    const values = chunk.map(
      ({ owner, owner_org, report_type, start }) => sql`
        (cast(${owner} as text), cast(${owner_org} as text), cast(${report_type} as integer),
          cast(${start} as bigint))`,
    );
    const { rows } = await sql<ScoreCount>`
      with periods (owner, owner_org, report_type, start) as (values ${sql.join(values)})
      select periods.owner, periods.owner_org, periods.report_type, periods.start,
        insights.score, count(*) as count
      from periods cross join insights
      where insights.owner = periods.owner and insights.report_type = periods.report_type
        and insights.start = periods.start
        and insights.owner_org is not distinct from periods.owner_org
      group by 1, 2, 3, 4, 5`.execute(kysely);
    counted.push(...rows);
  }
  return counted;
}
