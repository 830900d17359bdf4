// Creates calls with a week of results each, one a minute. One call is recorded as usual and then
// copied in the database, minute by minute over all calls, so that tables and indexes have the
// locality of real data.
import { newId } from "../../src/runtime/ids.ts";
import { MINUTE_MS } from "../../src/model/slots.ts";
import type { ResultCode } from "../../src/model/result.ts";
import type { Store } from "../../src/store/store.ts";
import { aCall, aReport, aRun } from "../../test/support/runs.ts";
import type { BenchDatabase } from "./database.ts";
import { BATCH } from "./results.ts";

/**
 * A Monday; the only period that closes in the week after it is its own. It is far ahead so that on
 * PostgreSQL its days are tables: days already past when a store is made share one.
 */
export const WEEK_START = Date.UTC(2035, 9, 1);
export const RESULTS_OF_WEEK = 10_080;

const DAY_MS = 86_400_000;
const TEMPLATE = "template";

/** Records the first `results` results of the week, for a call that is copied later. */
export async function recordTemplate(store: Store, results: number): Promise<void> {
  await makeDays(store);
  await insertCalls(store, [TEMPLATE]);
  for (let from = 0; from < results; from += BATCH) {
    const minutes = Array.from({ length: Math.min(BATCH, results - from) }, (_, n) => from + n);
    const runs = minutes.map((minute) =>
      aRun({ target_id: TEMPLATE, due_time: WEEK_START + minute * MINUTE_MS }),
    );
    await store.pendingRuns.insert(runs);
    await store.results.record(runs.map((run, n) => aReport(run, outcomeOf(minutes[n] ?? 0))));
  }
}

/**
 * From the day before the week to the day after it; the service itself makes only a few at a time.
 */
async function makeDays(store: Store): Promise<void> {
  for (let day = -1; day <= 7; day += 1) await store.retention.makeAhead(WEEK_START + day * DAY_MS);
}

/**
 * Totals spread over some hundred milliseconds; one in a thousand fails, one in five hundred is
 * slow.
 */
function outcomeOf(minute: number): { readonly total: number; readonly result: ResultCode } {
  const spread = ((minute * 7919) % 1009) / 1009;
  const total =
    minute % 500 === 7 ? 2000 + minute / 10 : 60 + 120 * spread ** 2 + (minute % 90) / 3;
  return { total, result: minute % 1000 === 13 ? "HTTP_SERVER_ERROR" : "COMPLETE" };
}

async function insertCalls(store: Store, ids: readonly string[]): Promise<void> {
  for (const id of ids) await store.documents.insert(aCall({ id }));
}

/** Adds `calls` calls with copies of the template's results and statistics. */
export async function copyTemplate(
  store: Store,
  database: BenchDatabase,
  calls: number,
): Promise<void> {
  if (calls === 0) return;
  const ids = Array.from({ length: calls }, () => newId(WEEK_START));
  await insertCalls(store, ids);
  const values = ids.map((id) => `('${id}')`).join(", ");
  await database.query(`insert into names (name) values ${values}`);
  const copies = `(select id, name from names where name in (${ids.map((id) => `'${id}'`).join(", ")}))`;
  const template = `(select id from names where name = '${TEMPLATE}')`;
  await copyRows(
    database,
    "results",
    { id: "source.id || copies.name", call: "copies.id" },
    `source cross join ${copies} copies where source.call = ${template}
      order by source.time, copies.id`,
  );
  await copyRows(
    database,
    "stats",
    { id: undefined, call: "copies.id" },
    `source cross join ${copies} copies where source.call = ${template}
      order by source.period, copies.id`,
  );
  await database.query(`
    insert into stat_buckets (stat_id, bucket, count)
    select copied.id, bucket, stat_buckets.count from stat_buckets
      join stats source on source.id = stat_id and source.call = ${template}
      join stats copied on copied.kind = source.kind and copied.period = source.period
        and copied.location = source.location and copied.result = source.result
      join ${copies} copies on copies.id = copied.call`);
  // Autovacuum does this in the course of a week; PostgreSQL then reads only the index.
  await database.query(database.file === undefined ? "vacuum analyze" : "analyze");
  if (database.file === undefined) await database.query("checkpoint"); // its CPU counts too
}

/** Copies all columns except those in `changed`, which get the given expression or are left out. */
async function copyRows(
  database: BenchDatabase,
  table: string,
  changed: Readonly<Record<string, string | undefined>>,
  from: string,
): Promise<void> {
  const [row] = await database.query(`select * from ${table} limit 1`);
  const columns = Object.keys(row ?? {}).filter(
    (column) => !(column in changed) || changed[column] !== undefined,
  );
  const values = columns.map((column) => changed[column] ?? `source.${column}`);
  await database.query(
    `insert into ${table} (${columns.join(", ")}) select ${values.join(", ")} from ${table} ${from}`,
  );
}
