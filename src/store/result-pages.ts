// Pages of results, which three tables hold: those of calls, those of workflows, and pending runs.
import { sql } from "kysely";
import type { RawBuilder, SelectQueryBuilder, Selectable } from "kysely";
import type { ResultCode } from "../model/result.ts";
import type { Database } from "./database.ts";
import { chunksOf, isAmong } from "./database.ts";
import { numberOf } from "./names.ts";
import type { ResultPage } from "./records.ts";
import type { Schema } from "./schema.ts";

/** What a page asks of the ids and times in these columns. */
export function placeOnPage(
  { after, order, from, to }: ResultPage,
  columns: { readonly id: string; readonly time: string },
): RawBuilder<boolean>[] {
  const [id, time] = [sql.ref(columns.id), sql.ref(columns.time)];
  const beyond = order === "desc" ? sql<boolean>`${id} < ${after}` : sql<boolean>`${id} > ${after}`;
  return [
    ...(after === "" ? [] : [beyond]),
    ...(from === undefined ? [] : [sql<boolean>`${time} >= ${from}`]),
    ...(to === undefined ? [] : [sql<boolean>`${time} < ${to}`]),
  ];
}

/** Terms of a compound query, of which SQLite takes 500. */
const MOST_GROUPS = 100;

/** The ids of a call's results on a page, in its order. */
export async function idsOnPage(
  database: Database,
  callId: string,
  page: ResultPage,
): Promise<string[]> {
  const { order, limit, from, to } = page;
  const inTime = from !== undefined || to !== undefined;
  const queries = inTime
    ? [timedQuery(database, callId, page)]
    : chunksOf(await groupsOf(database, callId, page), MOST_GROUPS).map((groups) =>
        groupedQuery(database, groups, page),
      );
  const found: string[] = [];
  for (const query of queries) found.push(...(await query.execute()).map(({ id }) => id));
  found.sort();
  return (order === "desc" ? found.toReversed() : found).slice(0, limit);
}

/** Results of one call with one outcome at one location, by their numbers. */
export type Group = Pick<Selectable<Schema["results"]>, "call" | "location" | "result">;

/** Those that have results. Each takes a step in the index, however many results it has. */
export async function groupsOf(
  { kysely }: Database,
  callId: string,
  { codes, location_id }: ResultPage,
): Promise<Group[]> {
  const { rows } = await sql<Group & { readonly at: string; readonly code: string }>`
    with recursive
      places (call, location) as (
        select id, (select min(location) from results where call = names.id)
        from names where name = ${callId}
        union all
        select call, (select min(r.location) from results r
          where r.call = places.call and r.location > places.location)
        from places where location is not null
      ),
      found (call, location, result) as (
        select call, location, (select min(r.result) from results r
          where r.call = places.call and r.location = places.location)
        from places where location is not null
        union all
        select call, location, (select min(r.result) from results r
          where r.call = found.call and r.location = found.location and r.result > found.result)
        from found where result is not null
      )
    select call, location, result, locations.name as at, codes.name as code from found
      join names locations on locations.id = location
      join names codes on codes.id = result`.execute(kysely);
  return rows
    .filter(({ at }) => location_id === undefined || at === location_id)
    .filter(({ code }) => !codes || codes.includes(code as ResultCode))
    .map(({ call, location, result }) => ({ call, location, result }));
}

/** An index has each group in the order of its ids. */
export function groupedQuery({ kysely }: Database, groups: readonly Group[], page: ResultPage) {
  const { order, limit } = page;
  const ofGroup = (group: Group) => {
    let query = kysely.selectFrom("results").select("id");
    for (const [column, number] of Object.entries(group))
      query = query.where(column as keyof Group, "=", number);
    for (const condition of placeOnPage(page, RESULT_PLACE)) query = query.where(condition);
    const ordered = query.orderBy("id", order).limit(limit);
    return kysely.selectFrom(ordered.as("group")).selectAll();
  };
  const [first, ...others] = groups.map(ofGroup) as [Ids, ...Ids[]];
  return others.reduce((all, query) => all.unionAll(query), first);
}

/** Results in a range of time: an index has those of a call by time, of all groups. */
export function timedQuery(database: Database, callId: string, page: ResultPage) {
  const { order, limit, codes, location_id } = page;
  let query = database.kysely
    .selectFrom("results")
    .select("id")
    .where("call", "=", numberOf(database, callId));
  for (const condition of placeOnPage(page, RESULT_PLACE)) query = query.where(condition);
  // The sign keeps these from leading to the index of groups, which has all times.
  if (location_id !== undefined)
    query = query.where(sql`+location`, "=", numberOf(database, location_id));
  if (codes) query = query.where(sql`+result`, "in", numbersAmong(database, codes));
  return query.orderBy("id", order).limit(limit);
}

const RESULT_PLACE = { id: "id", time: "time" };

type Ids = SelectQueryBuilder<Schema, never, { id: string }>;

const numbersAmong = (database: Database, names: readonly string[]) =>
  database.kysely
    .selectFrom("names")
    .select("id")
    .where(isAmong(database, "name", names));
