// Makes the store over either database.
import { AppError } from "../model/errors.ts";
import type { Clock } from "../runtime/clock.ts";
import { createApiKeyStore } from "./api-keys.ts";
import type { Database } from "./database.ts";
import { inTransaction } from "./database.ts";
import { createDocumentStore } from "./documents.ts";
import { createLeaseStore } from "./leases.ts";
import { createLocationStore } from "./locations.ts";
import { migrate } from "./migrate.ts";
import { createPendingRunStore } from "./pending-runs.ts";
import { addressOf, openPostgres } from "./postgres.ts";
import { createResultStore } from "./results.ts";
import { createScheduleStore } from "./schedules.ts";
import { openSqlite } from "./sqlite.ts";
import { createStatStore } from "./stats.ts";
import type { Store } from "./store.ts";

export interface StoreOptions {
  /** `postgres://…`, or a SQLite file whose folder exists. */
  readonly location: { readonly url: string } | { readonly file: string };
  readonly clock: Clock;
  readonly onConnectionLost?: (error: Error) => void;
}

/** Connects and brings the schema up to date. Rejects with one line for the operator when that is not possible. */
export async function openStore({
  location,
  clock,
  onConnectionLost,
}: StoreOptions): Promise<Store> {
  const database =
    "url" in location
      ? openPostgres({
          url: location.url,
          ...(onConnectionLost && { onConnectionLost }),
        })
      : openSqlite({ path: location.file, clock });
  try {
    await migrate(database.kysely);
  } catch (cause) {
    await database.kysely.destroy();
    if (!(cause instanceof AppError) || !("url" in location)) throw cause;
    const address = addressOf(location.url);
    throw new Error(
      `cannot reach PostgreSQL at ${address} (${reasonOf(cause)}): start it, or correct SONDE_DATABASE_URL`,
      { cause },
    );
  }
  return createStore(database);
}

const reasonOf = (error: AppError): string =>
  error.message.replace(/^the database cannot be reached: /, "");

export function createStore(database: Database): Store {
  return {
    documents: createDocumentStore(database),
    schedules: createScheduleStore(database),
    pendingRuns: createPendingRunStore(database),
    results: createResultStore(database),
    stats: createStatStore(database),
    apiKeys: createApiKeyStore(database),
    locations: createLocationStore(database),
    leases: createLeaseStore(database),
    transaction: (work) =>
      inTransaction(database, (transaction) => work(createStore(transaction))),
    now: database.now,
    async ping() {
      await database.kysely
        .selectFrom("leases")
        .select("name")
        .limit(1)
        .execute();
    },
    close: () => database.kysely.destroy(),
  };
}
