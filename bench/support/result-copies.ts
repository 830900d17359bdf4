// Stores many results of one call: some recorded by the store, the rest copied within the database.
import type { BenchDatabase } from "./database.ts";
import { decodeTime, encodeTime, TIME_DIGITS } from "../../src/runtime/ids.ts";
import { columnsOf } from "./deployments.ts";
import { BATCH, storeResults } from "./results.ts";

/** Results that are recorded; every copy has as many. */
const RECORDED = 10 * BATCH;

/** Leading digits of an id's time, in which the copies differ. */
const PREFIX_DIGITS = 5;
const PREFIX_MS = 32 ** (TIME_DIGITS - PREFIX_DIGITS);

/** Leaves out their statistics. Each copy follows the one before it, in ids and times. */
export async function storeManyResults(
  database: BenchDatabase,
  callId: string,
  count: number,
): Promise<void> {
  const store = await database.openStore();
  await storeResults(store, [callId], Math.min(RECORDED, count));
  await store.close();
  const [{ first, last, last_id } = {}] = await database.query(
    "select min(time) as first, max(time) as last, max(id) as last_id from results",
  );
  const found = await database.query(
    `select distinct substr(id, 1, ${PREFIX_DIGITS}) as prefix from results`,
  );
  const prefixes = found.map(({ prefix }) => String(prefix));
  const span = Math.ceil((Number(last) - Number(first) + 1) / PREFIX_MS) * PREFIX_MS;
  const results = await columnsOf(database, "results");
  const details = await columnsOf(database, "result_details");
  for (let copy = 1; copy * RECORDED < count; copy += 1) {
    const later = (prefix: string): string =>
      encodeTime(decodeTime(prefix.padEnd(TIME_DIGITS, "0")) + copy * span).slice(0, PREFIX_DIGITS);
    const cases = prefixes.map((prefix) => `when '${prefix}' then '${later(prefix)}'`);
    const copied = (column: string): string => {
      if (/^(?:id|result_id)$/.test(column))
        return `case substr(${column}, 1, ${PREFIX_DIGITS}) ${cases.join(" ")} end || substr(${column}, ${PREFIX_DIGITS + 1})`;
      return column.endsWith("time") ? `${column} + ${copy * span}` : column;
    };
    for (const [table, key, columns] of [
      ["results", "id", results],
      ["result_details", "result_id", details],
    ] as const)
      await database.query(`
        insert into ${table} (${columns.join(", ")})
        select ${columns.map(copied).join(", ")} from ${table}
        where ${key} <= '${String(last_id)}' order by ${key}`);
  }
}
