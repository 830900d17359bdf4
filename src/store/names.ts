// Texts that many rows repeat (ids of calls and locations, result codes, addresses …), stored once
// each; the rows have their numbers. A name keeps its number for good.
import type { BulkInsert } from "./bulk.ts";
import type { Database } from "./database.ts";
import { insertRows, isAmong } from "./database.ts";

const INSERT: BulkInsert<"name"> = {
  into: "names",
  columns: { name: "text" },
  onConflict: "on conflict (name) do nothing",
};

/** Numbers the names that have none yet. Call it in a transaction. */
export async function numberNames(
  database: Database,
  names: Iterable<string>,
): Promise<(name: string) => number> {
  const wanted = [...new Set(names)];
  const numbers = await numbersOf(database, wanted);
  // In one order everywhere: transactions that add the same names then do not deadlock.
  const missing = wanted.filter((name) => !numbers.has(name)).toSorted();
  if (missing.length > 0) {
    await insertRows(
      database,
      INSERT,
      missing.map((name) => ({ name })),
    );
    for (const [name, number] of await numbersOf(database, missing)) numbers.set(name, number);
  }
  return (name) => numbers.get(name) as number;
}

/** Of the names that have one. */
export async function numbersOf(
  database: Database,
  names: readonly string[],
): Promise<Map<string, number>> {
  const query = database.kysely.selectFrom("names").select(["id", "name"]);
  const rows = await query.where(isAmong(database, "name", names)).execute();
  return new Map(rows.map(({ id, name }) => [name, id]));
}

export async function namesOf(
  database: Database,
  numbers: Iterable<number | null>,
): Promise<(number: number) => string> {
  const wanted = [...new Set(numbers)].filter((number) => number !== null);
  const query = database.kysely.selectFrom("names").select(["id", "name"]);
  const rows = await query.where(isAmong(database, "id", wanted)).execute();
  const names = new Map(rows.map(({ id, name }) => [id, name]));
  return (number) => names.get(number) as string;
}

/** The number of the name, in a query; null where it has none. */
export const numberOf = ({ kysely }: Database, name: string) =>
  kysely.selectFrom("names").select("id").where("name", "=", name);
