// Pages of results, which three tables hold: those of calls, those of workflows, and pending runs.
import { sql } from "kysely";
import type { RawBuilder } from "kysely";
import type { Database } from "./database.ts";
import { numberOf, numbersOf } from "./names.ts";
import type { ResultPage } from "./records.ts";

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

/** The ids of a call's results on a page, in its order. */
export async function idsOnPage(
  database: Database,
  callId: string,
  page: ResultPage,
): Promise<string[]> {
  const { order, limit, codes } = page;
  if (!codes) return (await idsQuery(database, callId, page).execute()).map(({ id }) => id);
  const numbers = [...(await numbersOf(database, codes)).values()];
  const pages = await Promise.all(
    numbers.map((number) => idsQuery(database, callId, page, number).execute()),
  );
  const ids = pages.flat().map(({ id }) => id);
  ids.sort();
  return (order === "desc" ? ids.toReversed() : ids).slice(0, limit);
}

/** For one code, or for all of them: an index has these in the order of their ids. */
export function idsQuery(database: Database, callId: string, page: ResultPage, code?: number) {
  const { order, limit, location_id } = page;
  let query = database.kysely
    .selectFrom("results")
    .select("id")
    .where("call", "=", numberOf(database, callId));
  if (code !== undefined) query = query.where("result", "=", code);
  if (location_id !== undefined)
    query = query.where("location", "=", numberOf(database, location_id));
  for (const condition of placeOnPage(page, { id: "id", time: "time" }))
    query = query.where(condition);
  return query.orderBy("id", order).limit(limit);
}
