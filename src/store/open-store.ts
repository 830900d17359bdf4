// Opens the store over either database.
import { UnavailableError } from "../model/errors.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Sealer } from "../runtime/secrets.ts";
import type { Database } from "./database.ts";
import type { Sealing } from "./documents.ts";
import { assertKeysHeld } from "./master-keys.ts";
import { hasTable, migrate } from "./migrate.ts";
import { openSqlite } from "./sqlite.ts";
import { createStore } from "./store.ts";
import type { Store } from "./store.ts";

export interface StoreOptions {
  /** `postgres://…`, or a SQLite file whose folder exists. */
  readonly location: { readonly url: string } | { readonly file: string };
  readonly clock: Clock;
  /** For the secrets in it. */
  readonly sealer: Sealer;
  /** False: secrets are neither read nor written, and the database may have another master key. */
  readonly usesSecrets?: boolean;
  readonly onConnectionLost?: (error: Error) => void;
  /** Called once for each document whose secrets cannot be opened, when it is first read. */
  readonly onUnreadable?: Sealing["onUnreadable"];
}

/** Connects and migrates the schema. Rejects with one line for the operator when it cannot. */
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
      ? (await loadPostgres()).openPostgres({
          url: location.url,
          ...(onConnectionLost && { onConnectionLost }),
        })
      : openSqlite({ path: location.file, clock });
  // The copy makes every part, once.
  const store = { ...createStore(database, { sealer, onUnreadable: onceEach(onUnreadable) }) };
  try {
    if (usesSecrets && (await hasTable(database.kysely, "master_keys")))
      await assertKeysHeld(database, sealer); // before anything is changed
    await migrateAt(location, database);
    if (usesSecrets) await store.masterKeys.claim();
  } catch (cause) {
    await database.kysely.destroy();
    throw "url" in location
      ? await explained(cause, location.url)
      : withAdvice(cause, location.file);
  }
  return store;
}

/** Where the database is a file, its packages are not loaded. */
const loadPostgres = () => import("./postgres.ts");

/** A large table takes its time: what a migration asks of a server has no time limit. */
async function migrateAt(
  location: StoreOptions["location"],
  database: Pick<Database, "kysely">,
): Promise<void> {
  if ("file" in location) return void (await migrate(database.kysely));
  const { openPostgres } = await loadPostgres();
  const patient = openPostgres({ url: location.url, queryTimeoutMs: 0, maxConnections: 2 });
  try {
    await migrate(patient.kysely);
  } finally {
    await patient.kysely.destroy();
  }
}

async function explained(cause: unknown, url: string): Promise<unknown> {
  const { addressOf, isRefused } = await loadPostgres();
  const server = `PostgreSQL at ${addressOf(url)}`;
  if (isRefused(cause))
    return new Error(
      `${server} refuses the connection (${(cause as Error).message}): correct SONDE_DATABASE_URL`,
      { cause },
    );
  if (!(cause instanceof UnavailableError)) return cause;
  const reason = cause.message.replace(/^database unavailable: /, "");
  return new Error(`cannot reach ${server} (${reason}): start it, or correct SONDE_DATABASE_URL`, {
    cause,
  });
}

/** The first write may find the disk full. */
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
function onceEach(report: Sealing["onUnreadable"] = () => undefined): Sealing["onUnreadable"] {
  const reported = new Set<string>();
  return (found) => {
    if (reported.has(found.id)) return;
    reported.add(found.id);
    report(found);
  };
}
