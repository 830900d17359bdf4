// Compares stored statistics with their results, and repairs them while results are recorded: hours
// come from results, days from their hours, months from their days.
import { sql } from "kysely";
import { DAY_MS, periodEnd, periodStart } from "../../model/periods.ts";
import type { KeptKind } from "../../model/periods.ts";
import { summarizeResults } from "../../model/counted-result.ts";
import type { RawResult } from "../../model/counted-result.ts";
import { latencyOf } from "../../model/result.ts";
import type { ResultCode } from "../../model/result.ts";
import { differencesOf } from "../../model/stat-check.ts";
import type { CheckedStats, Differences, StatPlace, TimeSpan } from "../../model/stat-check.ts";
import { EMPTY_SUMMARY, mergeSummaries } from "../../model/summary.ts";
import type { Summary } from "../../model/summary.ts";
import { PHASES } from "../../model/timing.ts";
import type { Database } from "../database.ts";
import { countAll, inSnapshot, inTransaction } from "../database.ts";
import { lockStat, replaceStat } from "./fold.ts";
import { numberNames, selectNumber } from "../names.ts";
import { completeSince, idsOfStarts } from "../result-days.ts";
import { bucketsOfRow, SUMMARY_COLUMNS, summaryOfRows } from "./summary-rows.ts";

export const createStatCheckStore = (database: Database) => ({
  /** The calls with results or statistics. */
  calls: (): Promise<string[]> => callsIn(database),
  /** How many days have statistics, counted for each call; for all calls by default. */
  countDays: (span: TimeSpan, call_id?: string): Promise<number> =>
    countDays(database, span, call_id),
  /** The days, in order, on which a call has results, or a period with statistics begins. */
  days: (call_id: string, span: TimeSpan): Promise<number[]> => daysOf(database, call_id, span),
  /**
   * Compares a day and its hours with the results, or a month with its days, as of one instant.
   * Leaves out periods that do not lie within the span.
   */
  check: (call_id: string, kind: "DAY" | "MONTH", start: number, within: TimeSpan) =>
    inSnapshot(database, async (snapshot): Promise<CheckedStats> => {
      const span = { call_id, from: start, to: periodEnd(kind, start) };
      const stored = await readStats(snapshot, kind, span);
      if (kind === "MONTH") {
        const days = await readStats(snapshot, "DAY", span);
        return compare(stored, mergeInto("MONTH", days), within);
      }
      const hours = await hoursOfResults(snapshot, span);
      const storedHours = await readStats(snapshot, "HOUR", span);
      return compare([...storedHours, ...stored], [...hours, ...mergeInto("DAY", hours)], within);
    }),
  /**
   * Recomputes a row and replaces it if it differs; its source rows must be right. Returns the
   * differences; undefined if the row agrees, or its results may be gone.
   */
  repair: (place: StatPlace): Promise<Differences | undefined> =>
    inTransaction(database, async (transaction) => {
      const { kind, call_id, location_id, result, time } = place;
      const numberOf = await numberNames(transaction, [kind, call_id, location_id, result]);
      // Counting a result changes this row, in the transaction that stores the result. While the
      // row is locked, committed results and their counts agree; others are added to the new row.
      await lockStat(transaction, place, numberOf);
      const span = { call_id, location_id, result, from: time, to: periodEnd(kind, time) };
      const [stored] = await readStats(transaction, kind, span);
      // A row that does not begin at the start of a period has no source.
      const recomputed = (await RECOMPUTED[kind](transaction, span)).find(
        (each) => each.place.time === time,
      );
      const before = stored?.summary ?? EMPTY_SUMMARY;
      // Checked last: only results before this time are removed.
      const isComplete = time >= (await completeSince(transaction));
      const summary = isComplete ? (recomputed?.summary ?? EMPTY_SUMMARY) : before;
      const differences = differencesOf(before, summary);
      const differ = Object.keys(differences).length > 0;
      // Locking may have added an empty row, whose extremes would count.
      if (differ || summary.count === 0) await replaceStat(transaction, place, summary, numberOf);
      return differ ? differences : undefined;
    }),
});

async function callsIn({ kysely }: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from names where exists (select 1 from stats where call = names.id)
      or exists (select 1 from results where call = names.id) order by id`.execute(kysely);
  return rows.map(({ name }) => name);
}

async function countDays(
  database: Database,
  { from, to }: TimeSpan,
  call_id: string | undefined,
): Promise<number> {
  let days = database.kysely
    .selectFrom("stats")
    .select(["call", "period"])
    .distinct()
    .where("kind", "=", selectNumber(database, "DAY"))
    .where("period", ">=", from)
    .where("period", "<", to);
  if (call_id !== undefined) days = days.where("call", "=", selectNumber(database, call_id));
  return countAll(database.kysely.selectFrom(days.as("days")));
}

async function daysOf(
  database: Database,
  call_id: string,
  { from, to }: TimeSpan,
): Promise<number[]> {
  const call = selectNumber(database, call_id);
  const dayOf = (column: string) =>
    sql`${sql.ref(column)} - ${sql.ref(column)} % ${sql.lit(DAY_MS)}`;
  const { rows } = await sql<{ day: number }>`
    select ${dayOf("time")} as day from results
      where call = (${call}) and time >= ${from} and time < ${to}
        and ${await idsOfStarts(database, { start: from, end: to })}
    union select ${dayOf("period")} from stats
      where call = (${call}) and period >= ${from} and period < ${to}
    order by 1`.execute(database.kysely);
  return rows.map(({ day }) => day);
}

/** Selects rows and results. */
interface Span extends TimeSpan, Partial<Pick<StatPlace, "location_id" | "result">> {
  readonly call_id: string;
}

interface PlacedSummary {
  readonly place: StatPlace;
  readonly summary: Summary;
}

const RECOMPUTED: Readonly<
  Record<KeptKind, (database: Database, span: Span) => Promise<PlacedSummary[]>>
> = {
  HOUR: (database, span) => hoursOfResults(database, span),
  DAY: async (database, span) => mergeInto("DAY", await readStats(database, "HOUR", span)),
  MONTH: async (database, span) => mergeInto("MONTH", await readStats(database, "DAY", span)),
};

const keyOf = ({ kind, time, location_id, result }: StatPlace): string =>
  `${kind}|${time}|${location_id}|${result}`;

function compare(
  stored: readonly PlacedSummary[],
  expected: readonly PlacedSummary[],
  { from, to }: TimeSpan,
): CheckedStats {
  const places = new Map<string, StatPlace>();
  const [before, after] = [new Map<string, Summary>(), new Map<string, Summary>()];
  for (const [summaries, some] of [[before, stored] as const, [after, expected] as const])
    for (const { place, summary } of some) {
      if (place.time < from || periodEnd(place.kind, place.time) > to) continue;
      places.set(keyOf(place), place);
      summaries.set(keyOf(place), summary);
    }
  const agree = (key: string): boolean => {
    const [one = EMPTY_SUMMARY, other = EMPTY_SUMMARY] = [before.get(key), after.get(key)];
    return Object.keys(differencesOf(one, other)).length === 0;
  };
  return {
    periods: new Set([...places.values()].map(({ kind, time }) => `${kind}|${time}`)).size,
    differing: [...places].flatMap(([key, place]) => (agree(key) ? [] : [place])),
  };
}

/** Merges the summaries of shorter periods. */
function mergeInto(kind: KeptKind, parts: readonly PlacedSummary[]): PlacedSummary[] {
  const placed = parts.map(({ place, summary }) => ({
    place: { ...place, kind, time: periodStart(kind, place.time) },
    summary,
  }));
  return [...Map.groupBy(placed, ({ place }) => keyOf(place)).values()].map((group) => ({
    place: (group[0] as PlacedSummary).place,
    summary: group.map(({ summary }) => summary).reduce(mergeSummaries, EMPTY_SUMMARY),
  }));
}

async function hoursOfResults(database: Database, span: Span): Promise<PlacedSummary[]> {
  const { call_id, location_id, result, from, to } = span;
  let query = database.kysely
    .selectFrom("results")
    .innerJoin("names as codes", "codes.id", "results.result")
    .innerJoin("names as locations", "locations.id", "results.location")
    .select(["time", "total", ...PHASES])
    .select(["codes.name as code", "locations.name as location_id"])
    .where("call", "=", selectNumber(database, call_id))
    .where(await idsOfStarts(database, { start: from, end: to }))
    .where("time", ">=", from)
    .where("time", "<", to);
  if (location_id !== undefined) query = query.where("locations.name", "=", location_id);
  if (result !== undefined) query = query.where("codes.name", "=", result);
  const rows = await query.execute();
  const results = rows.map(({ time, total, code, location_id, ...phases }) => ({
    place: {
      kind: "HOUR" as const,
      time: periodStart("HOUR", time),
      call_id,
      location_id,
      result: code as ResultCode,
    },
    raw: { result: code as ResultCode, latency: latencyOf(total), phases } satisfies RawResult,
  }));
  return [...Map.groupBy(results, ({ place }) => keyOf(place)).values()].map((group) => ({
    place: (group[0] as (typeof results)[number]).place,
    summary: summarizeResults(group.map(({ raw }) => raw)),
  }));
}

async function readStats(
  database: Database,
  kind: KeptKind,
  { call_id, location_id, result, from, to }: Span,
): Promise<PlacedSummary[]> {
  let query = database.kysely
    .selectFrom("stats")
    .innerJoin("names as codes", "codes.id", "stats.result")
    .innerJoin("names as locations", "locations.id", "stats.location")
    .select(["period", "codes.name as code", "locations.name as location_id", ...SUMMARY_COLUMNS])
    .select(bucketsOfRow(database).as("buckets"))
    .where("call", "=", selectNumber(database, call_id))
    .where("kind", "=", selectNumber(database, kind))
    .where("period", ">=", from)
    .where("period", "<", to);
  if (location_id !== undefined) query = query.where("locations.name", "=", location_id);
  if (result !== undefined) query = query.where("codes.name", "=", result);
  return (await query.execute()).map((row) => ({
    place: {
      kind,
      time: row.period,
      call_id,
      location_id: row.location_id,
      result: row.code as ResultCode,
    },
    summary: summaryOfRows([row]),
  }));
}
