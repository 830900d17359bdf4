// Makes the store over either database.
import { UnavailableError } from "../model/errors.ts";
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
import { addressOf, isRefused, openPostgres } from "./postgres.ts";
import { createRenewalStore } from "./renewals.ts";
import { createResultStore, createWorkflowResultStore } from "./results.ts";
import { createSealedDocumentStore } from "./sealed-documents.ts";
import type { OnUnreadable } from "./sealed-documents.ts";
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
  /** Told once of each document whose secrets cannot be opened, when it is first read. */
  readonly onUnreadable?: OnUnreadable;
}

/**
 * Connects and brings the schema up to date. Rejects with one line for the operator when that is
 * not possible.
 */
export async function openStore({
  location,
  clock,
  sealer,
  usesSecrets = true,
  onConnectionLost,
  onUnreadable,
}: StoreOptions): Promise<Store> {
  const database =
    "url" in location
      ? openPostgres({
          url: location.url,
          ...(onConnectionLost && { onConnectionLost }),
        })
      : openSqlite({ path: location.file, clock });
  const store = createStore(database, sealer, onceEach(onUnreadable));
  try {
    if (usesSecrets && (await hasTable(database.kysely, "master_keys")))
      await assertKeysHeld(database, sealer); // before anything is changed
    await migrate(database.kysely);
    if (usesSecrets) await store.masterKeys.claim();
  } catch (cause) {
    await database.kysely.destroy();
    throw "url" in location ? explained(cause, location.url) : withAdvice(cause, location.file);
  }
  return store;
}

function explained(cause: unknown, url: string): unknown {
  const server = `PostgreSQL at ${addressOf(url)}`;
  if (isRefused(cause))
    return new Error(
      `${server} refuses the connection (${(cause as Error).message}): correct SONDE_DATABASE_URL`,
      { cause },
    );
  if (!(cause instanceof UnavailableError)) return cause;
  const reason = cause.message.replace(/^the database cannot be used: /, "");
  return new Error(`cannot reach ${server} (${reason}): start it, or correct SONDE_DATABASE_URL`, {
    cause,
  });
}

/** A disk may be found full only now that something is written. */
function withAdvice(cause: unknown, file: string): unknown {
  const { message, cause: why } = cause as Error;
  return [cause, why].some((each) => each instanceof UnavailableError)
    ? new Error(
        `${message}: make ${file} and its folder writable, with room in it, or set SONDE_DATA_DIR`,
        { cause },
      )
    : cause;
}

/** Runs, lists and renewals read the same documents again and again. */
function onceEach(tell: OnUnreadable = () => undefined): OnUnreadable {
  const told = new Set<string>();
  return (found) => {
    if (told.has(found.id)) return;
    told.add(found.id);
    tell(found);
  };
}

function createStore(database: Database, sealer: Sealer, onUnreadable: OnUnreadable): Store {
  return {
    documents: createSealedDocumentStore(createDocumentStore(database), sealer, onUnreadable),
    schedules: createScheduleStore(database),
    pendingRuns: createPendingRunStore(database),
    results: createResultStore(database),
    workflowResults: createWorkflowResultStore(database),
    stats: createStatStore(database),
    apiKeys: createApiKeyStore(database),
    locations: createLocationStore(database),
    leases: createLeaseStore(database),
    renewals: createRenewalStore(database),
    audit: createAuditStore(database),
    answers: createAnswerStore(database, sealer),
    masterKeys: createMasterKeyStore(database, sealer),
    transaction: (work) =>
      inTransaction(database, (transaction) =>
        work(createStore(transaction, sealer, onUnreadable)),
      ),
    now: database.now,
    async ping() {
      await database.kysely.selectFrom("leases").select("name").limit(1).execute();
    },
    close: () => database.kysely.destroy(),
  };
}
