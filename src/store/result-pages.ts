// Pages of results, which three tables hold: those of calls, those of workflows, and pending runs.
import { sql } from "kysely";
import type { RawBuilder } from "kysely";
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
