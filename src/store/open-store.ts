// Opens the store over either database.
import { databaseAddressOf } from "../model/database-url.ts";
import { UnavailableError } from "../model/errors.ts";
import type { Clock } from "../runtime/clock.ts";
import { codeOf } from "../runtime/error-code.ts";
import type { Sealer } from "../runtime/sealer.ts";
import type { Database } from "./database.ts";
import type { Sealing } from "./documents/documents.ts";
import { assertKeysHeld } from "./keys/master-keys.ts";
import type { DatabaseMetrics } from "./metrics.ts";
import {
  assertMigrated,
  hasSchema,
  hasTable,
  LOCK_TIMEOUT_MS,
  migrate,
  NEWEST,
} from "./migrate.ts";
import type { PostgresOptions } from "./postgres/postgres.ts";
import { isTlsFault, tlsAdvice } from "./postgres/postgres-tls.ts";
import { openSqlite } from "./sqlite/sqlite.ts";
import { createStore } from "./store.ts";
import type { Store } from "./store.ts";

/** A database on a server. */
type Server = Pick<PostgresOptions, "url" | "ca" | "maxConnections" | "timeoutMs">;

export interface StoreOptions {
  /** A server, or a SQLite file whose folder exists. */
  readonly location: Server | { readonly file: string };
  readonly clock: Clock;
  /** Seals and opens the secrets in the store. */
  readonly sealer: Sealer;
  /** False: secrets are neither read nor written, and the database may have another master key. */
  readonly usesSecrets?: boolean;
  /** False: rejects unless the schema has been migrated. Default: true. */
  readonly migrates?: boolean;
  /** Called with the newest migration if the schema was an older one. */
  readonly onMigrated?: (schema: string) => void;
  readonly onConnectionLost?: (error: Error) => void;
  readonly metrics?: DatabaseMetrics | undefined;
  /** Called with the results that are stored, each once, after the commit. Must not throw. */
  readonly onStored?: Database["onStored"];
  /** Called once for each document whose secrets cannot be opened, when it is first read. */
  readonly onUnreadable?: Sealing["onUnreadable"];
}

/** Connects and migrates the schema. Rejects with one line for the operator when it cannot. */
export async function openStore({
  location,
  clock,
  sealer,
  usesSecrets = true,
  migrates = true,
  onMigrated,
  onConnectionLost,
  metrics,
  onStored,
  onUnreadable,
}: StoreOptions): Promise<Store> {
  const opened =
    "url" in location
      ? (await loadPostgres()).openPostgres({
          ...location,
          metrics,
          ...(onConnectionLost && { onConnectionLost }),
        })
      : openSqlite({ path: location.file, clock, metrics });
  const database: Database = { ...opened, ...(onStored && { onStored }) };
  const store = createStore(database, { sealer, onUnreadable: onceEach(onUnreadable) });
  try {
    if (usesSecrets && (await hasTable(database.kysely, "master_keys")))
      await assertKeysHeld(database, sealer); // before anything is changed
    if (!migrates) await assertMigrated(database.kysely);
    else if (!(await hasSchema(database.kysely))) {
      const wasEmpty = !(await hasTable(database.kysely, "kysely_migration"));
      const applied = "url" in location ? await migrateServer(location) : await migrate(database);
      if (!wasEmpty && applied.length > 0) onMigrated?.(NEWEST);
    }
    if (usesSecrets) await store.masterKeys.claim();
  } catch (cause) {
    await database.kysely.destroy();
    throw await explained(cause, location);
  }
  return store;
}

/** Migrates the schema, and returns the names of the migrations that were missing. */
export async function migrateStore({
  location,
  clock,
}: Pick<StoreOptions, "location" | "clock">): Promise<string[]> {
  try {
    if ("url" in location) return await migrateServer(location);
    return await migrateAndClose(openSqlite({ path: location.file, clock }));
  } catch (cause) {
    throw await explained(cause, location);
  }
}

/** Loads the PostgreSQL packages, which a file database does not need. */
const loadPostgres = () => import("./postgres/postgres.ts");

/** Migrates without a statement timeout: a large table takes its time. */
async function migrateServer(server: Server): Promise<string[]> {
  const { openPostgres } = await loadPostgres();
  const patient = openPostgres({
    ...server,
    timeoutMs: 0,
    lockTimeoutMs: LOCK_TIMEOUT_MS,
    maxConnections: 2,
  });
  return migrateAndClose(patient);
}

async function migrateAndClose(database: Database): Promise<string[]> {
  try {
    return await migrate(database);
  } finally {
    await database.kysely.destroy();
  }
}

/** Adds advice for the operator. */
export const explained = async (
  cause: unknown,
  location: StoreOptions["location"],
): Promise<unknown> =>
  "url" in location ? explainedOf(cause, location.url) : withAdvice(cause, location.file);

/** Explains the error in one line for the operator, who set the URL with `setting`. */
export async function explainedOf(
  cause: unknown,
  url: string,
  setting = "SONDE_DATABASE_URL",
): Promise<unknown> {
  const { isForbidden, isReadOnly, isRefused } = await loadPostgres();
  const server = `PostgreSQL at ${databaseAddressOf(url)}`;
  if (isRefused(cause))
    return new Error(
      `${server} refuses the connection (${(cause as Error).message}): correct ${setting}`,
      { cause },
    );
  const causes = withCauses(cause);
  const readOnly = causes.find(isReadOnly);
  if (readOnly)
    return new Error(
      `${server} is read-only (${readOnly.message}): if it is a standby, let ${setting} lead to the primary; otherwise turn its default_transaction_read_only off`,
      { cause },
    );
  const forbidden = causes.find(isForbidden);
  if (forbidden)
    return new Error(
      `${server} denies its role permissions that Sonde needs (${forbidden.message}): make the role in ${setting} the owner of the database and its tables`,
      { cause },
    );
  if (!(cause instanceof UnavailableError)) return cause;
  if (isTlsFault(cause.cause))
    return new Error(`cannot reach ${server} over TLS ${tlsAdvice(cause.cause)}`, { cause });
  const reason = cause.message.replace(/^database unavailable: /, "");
  if (reason === "out of shared memory")
    return new Error(
      `${server} has no room for the locks on all tables (${reason}): raise its max_locks_per_transaction, as deploy/postgres/sonde.conf does`,
      { cause },
    );
  const advice = isCrowded(cause.cause)
    ? "raise its max_connections, or lower SONDE_DATABASE_CONNECTIONS of the processes"
    : `start it, or correct ${setting}`;
  return new Error(`cannot reach ${server} (${reason}): ${advice}`, { cause });
}

/** Returns the error, its cause, the cause of that, and so on. */
const withCauses = (error: unknown): Error[] =>
  error instanceof Error ? [error, ...withCauses(error.cause)] : [];

/** SQLSTATE too_many_connections: the server is up, but has no connection left. */
const isCrowded = (cause: unknown): boolean => codeOf(cause) === "53300";

/** Adds advice for a file that cannot be written: the first write may find the disk full. */
function withAdvice(cause: unknown, file: string): unknown {
  const { message, cause: why } = cause as Error;
  return [cause, why].some((each) => each instanceof UnavailableError)
    ? new Error(
        `${message}: make ${file} and its folder writable, with room in it, or set SONDE_DATA_DIR`,
        { cause },
      )
    : cause;
}

/** Reports each document once: runs, lists and renewals read the same ones repeatedly. */
function onceEach(report: Sealing["onUnreadable"] = () => undefined): Sealing["onUnreadable"] {
  const reported = new Set<string>();
  return (found) => {
    if (reported.has(found.id)) return;
    reported.add(found.id);
    report(found);
  };
}
