// Reads the rows of an export, page by page, in the order of their times: the results of a call, or
// its statistics.
import { formatInstant } from "../model/instant.ts";
import { HOUR_MS, keptPartsOf, periodEnd, periodStart } from "../model/periods.ts";
import { RESULT_CODES } from "../model/result.ts";
import type { Result, ResultCode } from "../model/result.ts";
import { codesOfType } from "../model/stat.ts";
import type { Direction, PeriodRow, RawEntry, StatQuery } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { Pace } from "./exports.ts";
import type { ResultFilter } from "./result-lists.ts";

/** Yields each result once, even if a late one replaces MISSED during the export. */
export async function* exportedResults(
  store: Store,
  call_id: string,
  filter: ResultFilter,
  pace: Pace,
): AsyncGenerator<readonly Result[]> {
  const { codes = RESULT_CODES, location_id = null, order, ...range } = filter;
  const direction = order === "desc" ? "backwards" : "forwards";
  const subject = { call_id, location_id, codes };
  const isNew = onceEach();
  for await (const entries of exportedEntries(store, subject, range, direction, pace)) {
    const results = await store.results.getMany(entries.map(({ id }) => id));
    const times = new Map(entries.map(({ id, time }) => [id, time]));
    // A late result may have replaced MISSED since its entry was read.
    const listed = results.filter(({ meta }) => codes.includes(meta.result));
    yield listed.filter((result) => isNew(result, times.get(result.id) ?? 0));
  }
}

/**
 * Remembers results that may come again, until the times read are an hour away: a late result and
 * the MISSED one that it replaces are closer together.
 */
function onceEach(): (result: Result, time: number) => boolean {
  const remembered = new Map<string, number>();
  return ({ id, meta }, time) => {
    if (remembered.has(id)) return false;
    const wasReplaced = formatInstant(time) !== (meta.start_time ?? meta.due_time);
    if (meta.result === "MISSED" || wasReplaced) remembered.set(id, time);
    for (const [old, at] of remembered) {
      if (Math.abs(time - at) < HOUR_MS) break;
      remembered.delete(old);
    }
    return true;
  };
}

export interface Range {
  readonly from?: number | undefined;
  /** Exclusive. */
  readonly to?: number | undefined;
}

export interface EntrySubject {
  readonly call_id: string;
  /** Null: all locations together. */
  readonly location_id: string | null;
  readonly codes: readonly ResultCode[];
}

/** Yields the entries of RAW statistics. */
export async function* exportedEntries(
  store: Store,
  { codes, ...query }: EntrySubject,
  { from = 0, to = Number.MAX_SAFE_INTEGER }: Range,
  direction: Direction,
  pace: Pace,
): AsyncGenerator<readonly RawEntry[]> {
  const first = await firstTime(store, query.call_id, from);
  if (first === undefined) return;
  let position = {
    time: direction === "forwards" ? first : to - 1,
    afterId: null as string | null,
  };
  for (;;) {
    const { limit } = pace;
    const found = await store.stats.raw(query, codes, position, direction, limit);
    const entries = found.filter(({ time }) => from <= time && time < to);
    yield entries;
    const last = entries.at(-1);
    if (!last || entries.length < limit) return;
    position = { time: last.time, afterId: last.id };
  }
}

/**
 * Finds the first result that is still stored. Where results are rare, the store looks for them by
 * the statistics, which outlive them.
 */
async function firstTime(store: Store, call_id: string, from: number): Promise<number | undefined> {
  const query = { call_id, location_id: null };
  const start = { time: from, afterId: null };
  const [first] = await store.stats.raw(query, RESULT_CODES, start, "forwards", 1);
  return first?.time;
}

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
