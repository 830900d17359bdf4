// Reads the statistics of a report's rows, group by group.
import { invalid } from "../model/errors.ts";
import type { PeriodKind } from "../model/periods.ts";
import type { Report, ReportRow } from "../model/report.ts";
import { mergePeriods } from "../model/report-stats.ts";
import { advancedStatOf, statOf } from "../model/stat.ts";
import type { PeriodSummaries } from "../model/stat.ts";
import { show } from "../model/validate.ts";
import type { Store } from "../store/store.ts";

/** Rows × periods of a page: the largest group fits with the default number of periods. */
export const MOST_ENTRIES = 5000;

interface Row extends ReportRow {
  /** The call's name. */
  readonly name: string;
}

export interface Group {
  readonly name: string;
  readonly rows: readonly Row[];
}

/** Returns the report's groups with only the rows whose calls are in `names`. */
export const groupsOf = ({ groups }: Report, names: ReadonlyMap<string, string>): Group[] =>
  groups.map(({ name: group, rows }) => ({
    name: group,
    rows: rows.flatMap((row) => {
      const name = names.get(row.call_id);
      return name === undefined ? [] : [{ ...row, name }];
    }),
  }));

/** Returns the index of the first group after the page. Throws `invalid` if one fits on no page. */
export function endOfPage(groups: readonly Group[], first: number, periods: number): number {
  for (const { name, rows } of groups)
    if (rows.length * periods > MOST_ENTRIES)
      throw invalid(
        `limit: ${periods} periods of the ${rows.length} rows of the group ${show(name)} are more than ${MOST_ENTRIES} entries; at most ${Math.floor(MOST_ENTRIES / rows.length)} periods fit`,
      );
  let [end, entries] = [first, 0];
  for (; end < groups.length; end += 1) {
    entries += (groups[end]?.rows.length ?? 0) * periods;
    if (entries > MOST_ENTRIES) break;
  }
  return end;
}

export interface Reading {
  readonly store: Store;
  readonly kind: PeriodKind;
  readonly type: string;
  /** Starts of the periods. */
  readonly times: readonly number[];
}

export async function groupStats(
  { store, kind, type, times }: Reading,
  { name, rows }: Group,
): Promise<unknown> {
  const read = new Map<string, unknown[]>();
  let totals: readonly PeriodSummaries[] = times.map(() => new Map());
  const entriesOf = (periods: readonly PeriodSummaries[]) =>
    periods.map((summaries, n) => ({
      stat: statOf(summaries, type, times[n] ?? 0),
      adv_stat: advancedStatOf(summaries, type),
    }));
  for (const { call_id, location_id } of rows) {
    const key = JSON.stringify([call_id, location_id]);
    if (read.has(key)) continue;
    const periods = await store.stats.periodsAt({ call_id, kind, location_id }, times);
    const summaries = periods.map((period) => period.summaries);
    read.set(key, entriesOf(summaries));
    totals = totals.map((total, n) => mergePeriods(total, summaries[n] ?? new Map()));
  }
  return {
    name,
    rows: rows.map(({ call_id, name: call, location_id }) => ({
      call_id,
      name: call,
      location_id,
      stats: read.get(JSON.stringify([call_id, location_id])),
    })),
    totals: entriesOf(totals),
  };
}
