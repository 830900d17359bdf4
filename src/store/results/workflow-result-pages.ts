// Pages of workflows' results, found by indexes that cover all filters of lists.
import { sql } from "kysely";
import type { RawBuilder } from "kysely";
import { RESULT_CODES } from "../../model/result.ts";
import type { Database } from "../database.ts";
import { isAmong } from "../database.ts";
import type { ResultPage } from "../records.ts";
import { placeOnPage } from "./result-pages.ts";

/** Up to this many results in a range of time are sorted rather than read in order. */
const MOST_SORTED = 10_000;

/** Returns the ids of a workflow's results on a page, in the page's order. */
export async function workflowIdsOnPage(
  database: Database,
  workflowId: string,
  page: ResultPage,
): Promise<string[]> {
  if (page.codes?.length === 0) return [];
  const query = (await isShortRange(database, workflowId, page))
    ? timedQuery(database, workflowId, page)
    : orderedQuery(workflowId, page);
  return (await query.execute(database.kysely)).rows.map(({ id }) => id);
}

async function isShortRange(
  { kysely }: Database,
  workflowId: string,
  page: ResultPage,
): Promise<boolean> {
  if (page.from === undefined && page.to === undefined) return false;
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select id from workflow_results where ${inRange(workflowId, page)} limit ${MOST_SORTED}
    ) as found`.execute(kysely);
  return (rows[0]?.count ?? 0) < MOST_SORTED;
}

/** Selects ids by the index by time, and sorts them. */
export function timedQuery(database: Database, workflowId: string, page: ResultPage) {
  const conditions = onPage({ ...page, from: undefined, to: undefined });
  if (page.codes) conditions.push(isAmong(database, "result", page.codes));
  // Materialized: no planner then reads all results in the order of their ids.
  return sql<{ id: string }>`
    with found as materialized (
      select id, location_id, result from workflow_results where ${inRange(workflowId, page)}
    )
    select id from found where ${all(conditions)} ${ordered(page)}`;
}

/** Selects ids by the index that has each outcome in the order of its ids. */
export function orderedQuery(workflowId: string, page: ResultPage) {
  const conditions = all([isOf(workflowId), ...onPage(page)]);
  const groups = (page.codes ?? RESULT_CODES).map(
    (code) => sql`select * from (
      select id from workflow_results where result = ${code} and ${conditions} ${ordered(page)}
    ) as of_code`,
  );
  return sql<{ id: string }>`
    select id from (${sql.join(groups, sql` union all `)}) as found ${ordered(page)}`;
}

const isOf = (workflowId: string) => sql<boolean>`workflow_id = ${workflowId}`;

const inRange = (workflowId: string, page: ResultPage): RawBuilder<boolean> =>
  all([isOf(workflowId), ...placeOnPage({ ...page, after: "" }, { id: "id", time: "time" })]);

// The sign keeps planners from the index by time.
const onPage = (page: ResultPage): RawBuilder<boolean>[] => [
  ...placeOnPage(page, { id: "id", time: sql<number>`+time` }),
  ...(page.location_id === undefined ? [] : [sql<boolean>`location_id = ${page.location_id}`]),
];

const all = (conditions: readonly RawBuilder<boolean>[]): RawBuilder<boolean> =>
  sql<boolean>`${sql.join([sql`true`, ...conditions], sql` and `)}`;

const ordered = ({ order, limit }: ResultPage) =>
  sql`order by id ${sql.raw(order ?? "asc")} limit ${limit}`;
