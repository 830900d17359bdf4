// Reads the statistics of a call for an export, page by page, oldest first.
import { keptPartsOf, periodEnd, periodStart } from "../model/periods.ts";
import { codesOfType } from "../model/stat.ts";
import type { PeriodRow, StatQuery } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { Range } from "./exported-results.ts";
import type { Pace } from "./exports.ts";

/** Reading a stored period costs about as much as reading this many results. */
const RESULTS_PER_PART = 8;

/** Yields the periods with calls of this type, from the one that contains `from` up to `to`. */
export async function* exportedPeriods(
  store: Store,
  query: StatQuery,
  type: string,
  { from = 0, to = Infinity }: Range,
  pace: Pace,
): AsyncGenerator<readonly PeriodRow[]> {
  const { kind } = query;
  let start = periodStart(kind, Math.floor(from));
  for (;;) {
    const limit = Math.ceil(pace.limit / RESULTS_PER_PART / keptPartsOf(kind, start).length);
    const found = await store.stats.periods(query, codesOfType(type), start, "forwards", limit);
    const rows = found.filter(({ time }) => time < to);
    yield rows;
    const last = rows.at(-1);
    if (!last || rows.length < limit) return;
    start = periodEnd(kind, last.time);
  }
}
