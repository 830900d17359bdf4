// Many results of one call: some that the store has recorded, and copies of them within the database.
import type { BenchDatabase } from "./database.ts";
import { columnsOf } from "./deployments.ts";
import { BATCH, storeResults } from "./results.ts";

/** Results that are recorded; every copy is as many. */
const RECORDED = 10 * BATCH;

/** Without their statistics. Each copy follows the one before it, in ids and times. */
export async function storeManyResults(
  database: BenchDatabase,
  callId: string,
  count: number,
): Promise<void> {
  const store = await database.openStore();
  await storeResults(store, [callId], Math.min(RECORDED, count));
  await store.close();
  const [{ first, last } = {}] = await database.query(
    "select min(time) as first, max(time) as last from results",
  );
  const span = Number(last) - Number(first) + 60_000;
  const results = await columnsOf(database, "results");
  const details = await columnsOf(database, "result_details");
  for (let copy = 1; copy * RECORDED < count; copy += 1) {
    const copied = (column: string): string => {
      if (/^(?:id|result_id)$/.test(column)) return `'1${10_000 + copy}' || substr(${column}, 7)`;
      return column.endsWith("time") ? `${column} + ${copy * span}` : column;
    };
    for (const [table, key, columns] of [
      ["results", "id", results],
      ["result_details", "result_id", details],
    ] as const)
      await database.query(`
        insert into ${table} (${columns.join(", ")})
        select ${columns.map(copied).join(", ")} from ${table}
        where ${key} < '1' order by ${key}`);
  }
}
