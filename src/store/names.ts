// Stores texts that many rows repeat (ids of calls and locations, result codes, addresses …) once
// each; the rows hold their numbers. A name keeps its number forever.
import type { BulkInsert } from "./bulk.ts";
import type { Database } from "./database.ts";
import { insertRows, isAmong } from "./database.ts";

const INSERT: BulkInsert<"name"> = {
  into: "names",
  columns: { name: "text" },
  onConflict: "on conflict (name) do nothing",
};

/** Names to keep in memory across batches, at about 100 bytes each. */
const MOST_KEPT = 200_000;

/** Assigns numbers to the names that have none yet. Call it in a transaction. */
export async function numberNames(
  database: Database,
  names: Iterable<string>,
): Promise<(name: string) => number> {
  const numbers = new Map<string, number>();
  const wanted = new Set<string>();
  for (const name of names) {
    const number = numbers.get(name) ?? database.numbers.get(name);
    if (number === undefined) wanted.add(name);
    else numbers.set(name, number);
  }
  if (wanted.size > 0) {
    const read = await readOrInsert(database, [...wanted]);
    for (const [name, number] of read) numbers.set(name, number);
    database.afterCommit(() => keep(database, read));
  }
  return (name) => numbers.get(name) as number;
}

async function readOrInsert(
  database: Database,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const numbers = await numbersOf(database, names);
  // In the same order everywhere: transactions that add the same names must not deadlock.
  const missing = names.filter((name) => !numbers.has(name)).toSorted();
  if (missing.length === 0) return numbers;
  await insertRows(
    database,
    INSERT,
    missing.map((name) => ({ name })),
  );
  return new Map([...numbers, ...(await numbersOf(database, missing))]);
}

/** Caches the names of committed rows. */
export function keep({ numbers }: Database, added: ReadonlyMap<string, number>): void {
  if (numbers.size + added.size > MOST_KEPT) numbers.clear();
  for (const [name, number] of added) numbers.set(name, number);
}

/** Returns the numbers of the names that have one. */
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

/** A subquery for the number of the name; null if it has none. */
export const selectNumber = ({ kysely }: Database, name: string) =>
  kysely.selectFrom("names").select("id").where("name", "=", name);

/** A subquery for the numbers of those of the names that have one. */
export const selectNumbers = (database: Database, names: readonly string[]) =>
  database.kysely
    .selectFrom("names")
    .select("id")
    .where(isAmong(database, "name", names));
