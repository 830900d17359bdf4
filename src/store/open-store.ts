// Makes the store over either database.
import { AppError } from "../model/errors.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Sealer } from "../runtime/secrets.ts";
import { createApiKeyStore } from "./api-keys.ts";
import { createAuditStore } from "./audit.ts";
import type { Database } from "./database.ts";
import { inTransaction } from "./database.ts";
import { createDocumentStore } from "./documents.ts";
import { createLeaseStore } from "./leases.ts";
import { createLocationStore } from "./locations.ts";
import { createAnswerStore } from "./kept-answers.ts";
import { assertKeysHeld, createMasterKeyStore } from "./master-keys.ts";
import { hasTable, migrate } from "./migrate.ts";
import { createPendingRunStore } from "./pending-runs.ts";
import { addressOf, openPostgres } from "./postgres.ts";
import { createResultStore, createWorkflowResultStore } from "./results.ts";
import { createSealedDocumentStore } from "./sealed-documents.ts";
import { createScheduleStore } from "./schedules.ts";
import { openSqlite } from "./sqlite.ts";
import { createStatStore } from "./stats.ts";
import type { Store } from "./store.ts";

export interface StoreOptions {
  /** `postgres://…`, or a SQLite file whose folder exists. */
  readonly location: { readonly url: string } | { readonly file: string };
  readonly clock: Clock;
  /** Of the secrets in it. */
  readonly sealer: Sealer;
  /** False for what reads and writes no secrets: the database's master key may then be another. */
  readonly usesSecrets?: boolean;
  readonly onConnectionLost?: (error: Error) => void;
}

/** Connects and brings the schema up to date. Rejects with one line for the operator when that is not possible. */
export async function openStore({
  location,
  clock,
  sealer,
  usesSecrets = true,
  onConnectionLost,
}: StoreOptions): Promise<Store> {
  const database =
    "url" in location
      ? openPostgres({
          url: location.url,
          ...(onConnectionLost && { onConnectionLost }),
        })
      : openSqlite({ path: location.file, clock });
  const store = createStore(database, sealer);
  try {
    if (usesSecrets && (await hasTable(database.kysely, "master_keys")))
      await assertKeysHeld(database, sealer); // before anything is changed
    await migrate(database.kysely);
    if (usesSecrets) await store.masterKeys.claim();
  } catch (cause) {
    await database.kysely.destroy();
    if (!(cause instanceof AppError) || !("url" in location)) throw cause;
    const address = addressOf(location.url);
    throw new Error(
      `cannot reach PostgreSQL at ${address} (${reasonOf(cause)}): start it, or correct SONDE_DATABASE_URL`,
      { cause },
    );
  }
  return store;
}

const reasonOf = (error: AppError): string =>
  error.message.replace(/^the database cannot be reached: /, "");

export function createStore(database: Database, sealer: Sealer): Store {
  return {
    documents: createSealedDocumentStore(createDocumentStore(database), sealer),
    schedules: createScheduleStore(database),
    pendingRuns: createPendingRunStore(database),
    results: createResultStore(database),
    workflowResults: createWorkflowResultStore(database),
    stats: createStatStore(database),
    apiKeys: createApiKeyStore(database),
    locations: createLocationStore(database),
    leases: createLeaseStore(database),
    audit: createAuditStore(database),
    answers: createAnswerStore(database, sealer),
    masterKeys: createMasterKeyStore(database, sealer),
    transaction: (work) =>
      inTransaction(database, (transaction) =>
        work(createStore(transaction, sealer)),
      ),
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
