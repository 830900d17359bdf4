// A connected database of either dialect, as the parts of the store share it.
import { sql } from "kysely";
import type { Kysely, RawBuilder, Transaction } from "kysely";
import { unavailable } from "../model/errors.ts";
import type { Schema } from "./schema.ts";

export interface Database {
  readonly kysely: Kysely<Schema>;
  /** Rows can be locked one by one; otherwise a transaction locks the whole database. */
  readonly rowLocks: boolean;
  /** Whether repeating the transaction may help (deadlock, serialization failure). */
  readonly isTransient: (error: unknown) => boolean;
  readonly now: () => Promise<number>;
}

const ATTEMPTS = 4;

/**
 * Joins the current transaction, or starts one and repeats it when it collides with another.
 * Rejects with `unavailable` when every attempt collided.
 */
export async function inTransaction<T>(
  database: Database,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  if (database.kysely.isTransaction) return work(database);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await database.kysely
        .transaction()
        .execute((transaction: Transaction<Schema>) => work({ ...database, kysely: transaction }));
    } catch (error) {
      if (!database.isTransient(error)) throw error;
      if (attempt === ATTEMPTS) throw collided(error);
    }
  }
}

const collided = (cause: unknown): Error =>
  unavailable(`the database is too busy: a transaction collided with others ${ATTEMPTS} times`, {
    part: "the database",
    cause,
  });

/** Keeps a statement within the number of parameters that both drivers accept. */
export function chunksOf<T>(items: readonly T[], size = 500): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) =>
    items.slice(n * size, (n + 1) * size),
  );
}

/** For `doUpdateSet`: the columns of the row that could not be inserted. */
export const excluded = <Column extends string>(
  columns: readonly Column[],
): Record<Column, RawBuilder<never>> =>
  Object.fromEntries(
    columns.map((column) => [column, sql.ref<never>(`excluded.${column}`)]),
  ) as Record<Column, RawBuilder<never>>;
