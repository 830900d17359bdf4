// Opens a store read-only, to examine its state without changing anything, not even an outdated
// schema.
import { sql } from "kysely";
import { randomBytes } from "node:crypto";
import type { Clock } from "../runtime/clock.ts";
import { isMissing } from "../runtime/data-dir.ts";
import { createSealer } from "../runtime/sealer.ts";
import type { Sealer } from "../runtime/sealer.ts";
import type { Database } from "./database.ts";
import { countAll } from "./database.ts";
import type { Sealing } from "./documents/documents.ts";
import { createLedgerAudit } from "./ledger/ledger-audit.ts";
import { assertKeysHeld } from "./keys/master-keys.ts";
import { hasTable, schemaState } from "./migrate.ts";
import { explained } from "./open-store.ts";
import type { StoreOptions } from "./open-store.ts";
import { securedUrl } from "./postgres/postgres-tls.ts";
import type { Lease } from "./records.ts";
import { createRecentRuns } from "./results/recent-runs.ts";
import { FOR_EVER } from "./ledger/schedules.ts";
import { openSqlite } from "./sqlite/sqlite.ts";
import { createStore } from "./store.ts";

export interface InspectionOptions {
  readonly location: StoreOptions["location"];
  readonly clock: Clock;
}

export type Inspection = Awaited<ReturnType<typeof openInspection>>;

/** Rejects with one line for the operator if the database is missing or refuses access. */
export async function openInspection({ location, clock }: InspectionOptions) {
  try {
    const database = await openToRead(location, clock);
    try {
      await schemaState(database.kysely); // which this user may not be allowed to read
      const isEncrypted = "url" in location && securedUrl(location.url, location.ca).ssl !== false;
      return { ...inspectionOf(database), isEncrypted };
    } catch (cause) {
      await database.kysely.destroy();
      throw cause;
    }
  } catch (cause) {
    throw await explained(cause, location);
  }
}

async function openToRead(location: StoreOptions["location"], clock: Clock): Promise<Database> {
  if ("url" in location) {
    const { openPostgres } = await import("./postgres/postgres.ts");
    return openPostgres({ ...location, maxConnections: 2, readOnly: true });
  }
  const { file: path } = location;
  if (isMissing(path))
    throw new Error(
      `there is no database ${path}: start \`sonde serve\`, which creates it, or correct SONDE_DATA_DIR`,
    );
  try {
    return openSqlite({ path, clock, readOnly: true });
  } catch (cause) {
    throw new Error(
      `cannot read the database ${path} (${(cause as Error).message}): run this as the user of the service, or restore the file from a backup`,
      { cause },
    );
  }
}

const NOTHING_UNSEALED: Sealing = {
  sealer: createSealer({ current: randomBytes(32) }),
  onUnreadable: () => undefined,
};

function inspectionOf(database: Database) {
  const { kysely } = database;
  const store = createStore(database, NOTHING_UNSEALED);
  return {
    locations: store.locations,
    agents: store.agents,
    /** Returns the time by the database server's clock, or this machine's without a server. */
    now: () => store.now(),
    /** Whether the database has its own clock. */
    hasClock: database.rowLocks,
    schema: () => schemaState(kysely),
    /** Rejects unless this sealer holds every key that the secrets are encrypted with. */
    async assertKeysHeld(held: Sealer): Promise<void> {
      if (await hasTable(kysely, "master_keys")) await assertKeysHeld(database, held);
    },
    /** Counts the master keys that the secrets are encrypted with. */
    async countKeys(): Promise<number> {
      if (!(await hasTable(kysely, "master_keys"))) return 0;
      return countAll(kysely.selectFrom("master_keys"));
    },
    /** Returns undefined if nobody has ever held the lease. */
    lease: (name: string): Promise<Lease | undefined> =>
      kysely.selectFrom("leases").selectAll().where("name", "=", name).executeTakeFirst(),
    deployments: () => deployments(database),
    ...createLedgerAudit(database),
    ...createRecentRuns(database),
    /** Returns the number of pending reports, and since when the oldest is overdue. */
    waitingInsights: async (now: number) => ({
      reports: await countAll(kysely.selectFrom("stale_insights")),
      since: await store.fleet.insightsOverdueSince(now),
    }),
    size: () => sizeOf(database),
    refusal: () => refusalOf(database),
    close: () => kysely.destroy(),
  };
}

/** Counts the deployments by location. */
async function deployments({ kysely }: Database): Promise<Map<string, number>> {
  const rows = await kysely
    .selectFrom("schedules")
    .select((eb) => ["location_id", eb.fn.countAll<number>().as("count")])
    .where("active_until", "=", FOR_EVER)
    .groupBy("location_id")
    .execute();
  return new Map(rows.map(({ location_id, count }) => [location_id, count]));
}

/** PostgreSQL only: the database's size and, if this user may know it, the server's folder. */
async function sizeOf({ kysely, rowLocks }: Database) {
  if (!rowLocks) return undefined;
  const { rows } = await sql<{ bytes: number; folder: string | null }>`
    select pg_database_size(current_database())::float8 as bytes,
      case when pg_has_role(current_user, 'pg_read_all_settings', 'usage')
        then current_setting('data_directory') end as folder`.execute(kysely);
  return rows[0];
}

/** PostgreSQL only: why the server refuses every change; undefined if it accepts changes. */
async function refusalOf({ kysely, rowLocks }: Database) {
  if (!rowLocks) return undefined;
  // `reset_val` is the setting without ours, which makes this connection read-only.
  const { rows } = await sql<{ standby: boolean; setting: string | null }>`
    select pg_is_in_recovery() as standby, (select reset_val from pg_settings
      where name = 'default_transaction_read_only') as setting`.execute(kysely);
  if (rows[0]?.standby) return "standby";
  return rows[0]?.setting === "on" ? "read-only" : undefined;
}
