// A connected database of either dialect: what the parts of the store share. SQL is written once,
// for both.
import type { Kysely, Transaction } from "kysely";
import { unavailable } from "../model/errors.ts";
import type { Schema } from "./schema.ts";

export interface Database {
  readonly kysely: Kysely<Schema>;
  /** Rows can be locked one by one; otherwise a transaction has the database to itself. */
  readonly rowLocks: boolean;
  /**
   * Whether an error passes by itself when the transaction is repeated (deadlock, serialization
   * failure).
   */
  readonly isTransient: (error: unknown) => boolean;
  readonly now: () => Promise<number>;
}

const ATTEMPTS = 4;

/**
 * Joins the transaction under way, or makes one and repeats it when it collided with another;
 * rejects with `unavailable` when it did so each time.
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

/** Keeps a statement's parameters below what either driver takes. */
export function chunksOf<T>(items: readonly T[], size = 500): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) =>
    items.slice(n * size, (n + 1) * size),
  );
}
