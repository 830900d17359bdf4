// On PostgreSQL, splits results and their details into a table for each day, by the time in their
// ids; the existing rows are the first table, unchanged. Also stores how far a call's start may be
// from the time in its result's id.
import { SqliteAdapter, sql } from "kysely";
import type { Kysely } from "kysely";

const DAY_MS = 86_400_000;

export async function up(db: Kysely<unknown>): Promise<void> {
  if (db.getExecutor().adapter instanceof SqliteAdapter) return;
  await createSpans(db);
  const first = encodeTime(await firstFreeDay(db));
  for (const statement of [
    "drop index results_list",
    inBytes("results", "id"),
    inBytes("result_details", "result_id"),
    `create index results_list on results ${INDEXES.results_list}`,
    ...divide("results", "id"),
    ...divide("result_details", "result_id"),
  ])
    await sql.raw(statement.replace("$first", `'${first}'`)).execute(db);
}

/** Makes ids compare byte by byte, whatever the locale of the database. */
const inBytes = (table: string, id: string): string =>
  `alter table ${table} alter column ${id} type text collate "C"`;

function divide(table: "results" | "result_details", id: string): string[] {
  const indexes = table === "results" ? Object.entries(INDEXES) : [];
  return [
    `alter table ${table} rename to ${table}_before`,
    `alter table ${table}_before rename constraint ${table}_pkey to ${table}_before_pkey`,
    ...indexes.map(([name]) => `alter index ${name} rename to ${name}_before`),
    `create table ${table} (like ${table}_before, primary key (${id})) partition by range (${id})`,
    ...indexes.map(([name, columns]) => `create index ${name} on ${table} ${columns}`),
    `alter table ${table} attach partition ${table}_before for values from (minvalue) to ($first)`,
    `create table ${table}_default partition of ${table} default`,
  ];
}

/**
 * In the table of a day, the list index holds a call's results of that day together. So it also
 * covers what a score needs, and the index by time stays small.
 */
const INDEXES = {
  results_list: "(call, location, result, id) include (time, total, uncertainty)",
  results_time: "(call, time)",
};

async function createSpans(db: Kysely<unknown>): Promise<void> {
  await sql`create table result_spans (late bigint not null, early bigint not null)`.execute(db);
  await sql`insert into result_spans
    select coalesce(max(time - ${ID_TIME}), 0), coalesce(max(${ID_TIME} - time), 0)
    from results`.execute(db);
}

/** Returns the start of the first day that is in the future and after those of all ids. */
async function firstFreeDay(db: Kysely<unknown>): Promise<number> {
  const { rows } = await sql<{ newest: string }>`
    select greatest(
      (extract(epoch from clock_timestamp()) * 1000)::bigint,
      (select max(${ID_TIME}) from results),
      (select max(${idTime("result_id")}) from result_details)
    )::text as newest`.execute(db);
  return (Math.floor(Number(rows[0]?.newest) / DAY_MS) + 1) * DAY_MS;
}

/** Crockford's base 32. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const DIGITS = 10;

function encodeTime(ms: number): string {
  const digits = ms.toString(32).padStart(DIGITS, "0").split("");
  return digits.map((digit) => ALPHABET.charAt(Number.parseInt(digit, 32))).join("");
}

/** SQL for the milliseconds that an id begins with. */
function idTime(id: string) {
  const digits = Array.from({ length: DIGITS }, (_, at) => {
    const digit = `strpos('${ALPHABET}', substr(${id}, ${at + 1}, 1)) - 1`;
    return `((${digit})::bigint << ${5 * (DIGITS - 1 - at)})`;
  });
  return sql.raw<number>(`(${digits.join(" + ")})`);
}

const ID_TIME = idTime("id");
