// Pages of results, which are in three tables: results of calls, of workflows, and pending runs.
import { sql } from "kysely";
import type { AliasableExpression, RawBuilder, SelectQueryBuilder, Selectable } from "kysely";
import { chunksOf } from "../../model/chunks.ts";
import type { Database } from "../database.ts";
import { selectNumber, selectNumbers } from "../names.ts";
import type { ResultPage } from "../records.ts";
import type { Schema } from "../schema.ts";
import { windowsOfPage } from "./result-windows.ts";

/** The page's conditions on the ids and times in these columns. */
export function placeOnPage(
  { after, order, from, to }: ResultPage,
  columns: { readonly id: string; readonly time: string | RawBuilder<number> },
): RawBuilder<boolean>[] {
  const id = sql.ref(columns.id);
  const time = typeof columns.time === "string" ? sql.ref(columns.time) : columns.time;
  const beyond = order === "desc" ? sql<boolean>`${id} < ${after}` : sql<boolean>`${id} > ${after}`;
  return [
    ...(after === "" ? [] : [beyond]),
    ...(from === undefined ? [] : [sql<boolean>`${time} >= ${from}`]),
    ...(to === undefined ? [] : [sql<boolean>`${time} < ${to}`]),
  ];
}

/** How often a page is read at most, as long as it changes between its queries. */
export const MOST_READS = 3;

/** Terms of a compound query; SQLite takes at most 500. */
const MOST_GROUPS = 100;

/** Returns the ids of a call's results on a page, in the page's order. */
export async function idsOnPage(
  database: Database,
  callId: string,
  page: ResultPage,
): Promise<string[]> {
  const { order, limit, from, to } = page;
  const isTimed = !database.rowLocks && (from !== undefined || to !== undefined);
  const found = isTimed
    ? idsOf(await timedQuery(database, callId, page).execute())
    : await idsOfGroups(database, callId, page);
  found.sort();
  return (order === "desc" ? found.toReversed() : found).slice(0, limit);
}

async function idsOfGroups(
  database: Database,
  callId: string,
  page: ResultPage,
): Promise<string[]> {
  const found: string[] = [];
  const all = chunksOf(await groupsOf(database, callId, page), MOST_GROUPS);
  if (all.length === 0) return found;
  const windows = database.rowLocks ? await windowsOfPage(database, callId, page) : [ANY_ID];
  for (const ids of windows) {
    for (const groups of all) {
      const query = groupedQuery(database, groups, page, ids);
      found.push(...idsOf(await query.execute()));
    }
    if (found.length >= page.limit) break;
  }
  return found;
}

const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id);

/** The results of one call with one code at one location, by the numbers of these names. */
export type Group = Pick<Selectable<Schema["results"]>, (typeof GROUP_COLUMNS)[number]>;

/** Returns the groups that have statistics; all results of some may have been removed. */
export async function groupsOf(
  database: Database,
  callId: string,
  { codes, location_id }: ResultPage,
): Promise<Group[]> {
  let groups = database.kysely
    .selectFrom("stats")
    .select(["call", "location", "result"])
    .distinct()
    .where("call", "=", selectNumber(database, callId))
    .where("kind", "=", selectNumber(database, "MONTH"))
    .where("count", ">", 0);
  if (location_id !== undefined)
    groups = groups.where("location", "=", selectNumber(database, location_id));
  if (codes) groups = groups.where("result", "in", selectNumbers(database, codes));
  return groups.execute();
}

/** Selects ids by an index that has each group in the order of its ids. */
export function groupedQuery(
  { kysely, rowLocks }: Database,
  groups: readonly Group[],
  page: ResultPage,
  ids = ANY_ID,
): Ids {
  const { order, limit } = page;
  // The sum keeps the planner from the index by time, which has all groups.
  const place = rowLocks ? { id: "id", time: sql<number>`time + 0` } : RESULT_PLACE;
  const ofGroup = (numberIn: (column: keyof Group) => number | RawBuilder<number>) => {
    let query = kysely.selectFrom("results").select("id").where(ids);
    for (const column of GROUP_COLUMNS) query = query.where(column, "=", numberIn(column));
    for (const condition of placeOnPage(page, place)) query = query.where(condition);
    return query.orderBy("id", order).limit(limit);
  };
  const select = (ids: AliasableExpression<{ id: string }>): Ids =>
    kysely.selectFrom(ids.as("found")).selectAll();
  if (!rowLocks)
    return groups
      .map((group) => select(ofGroup((column) => group[column])))
      .reduce((all, query) => all.unionAll(query));
  // Planned once for all groups: planning takes longer than reading them.
  const numbers = GROUP_COLUMNS.map((name) => sql`${groups.map((group) => group[name])}::int[]`);
  return select(sql<{ id: string }>`(
    select of_group.id from unnest(${sql.join(numbers)}) as given (call, location, result)
      cross join lateral (${ofGroup((column) => sql.ref<number>(`given.${column}`))}) as of_group
    order by of_group.id ${sql.raw(order ?? "asc")} limit ${limit}
  )`);
}

const GROUP_COLUMNS = ["call", "location", "result"] as const;

/** Selects results in a range of time on SQLite, by an index of a call's results by time. */
export function timedQuery(database: Database, callId: string, page: ResultPage) {
  const { order, limit, codes, location_id } = page;
  let query = database.kysely
    .selectFrom("results")
    .select("id")
    .where("call", "=", selectNumber(database, callId));
  for (const condition of placeOnPage(page, RESULT_PLACE)) query = query.where(condition);
  // The sign keeps SQLite from the index of groups, which has all times.
  if (location_id !== undefined)
    query = query.where(sql`+location`, "=", selectNumber(database, location_id));
  if (codes) query = query.where(sql`+result`, "in", selectNumbers(database, codes));
  return query.orderBy("id", order).limit(limit);
}

const ANY_ID = sql<boolean>`true`;

const RESULT_PLACE = { id: "id", time: "time" };

type Ids = SelectQueryBuilder<Schema, never, { id: string }>;
