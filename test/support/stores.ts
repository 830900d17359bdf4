// Opens real stores on the adapters named by STORES, and looks into their databases.
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { CompiledQuery } from "kysely";
import type { KyselyPlugin } from "kysely";
import { afterAll, beforeAll, inject } from "vitest";
import type { Database } from "../../src/store/database.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { StoreOptions } from "../../src/store/open-store.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import type { Clock } from "../../src/runtime/clock.ts";
import { createSealer } from "../../src/runtime/sealer.ts";
import { track } from "./no-leftovers.ts";
import { createDatabase, dropDatabase, folderInMemory } from "./postgres.ts";

export type StoreKind = "sqlite" | "postgres";

export const storeKinds = (process.env["STORES"] ?? "sqlite").split(",") as StoreKind[];

export interface TestDatabase extends AsyncDisposable {
  readonly location: StoreOptions["location"];
  /** Opens a store, by default on the real clock. Disposing of the database closes its stores. */
  open(clock?: Clock, onUnreadable?: StoreOptions["onUnreadable"]): Promise<Store>;
}

/** Connects to the database beside its stores; the caller destroys the connection. */
export const connect = ({ location }: Pick<TestDatabase, "location">): Database =>
  "url" in location
    ? openPostgres({ url: location.url })
    : openSqlite({ path: location.file, clock: systemClock });

/** As `connect`; does `work` once, when a query has found this value and before the next one. */
export function connectInterrupted(
  to: Pick<TestDatabase, "location">,
  value: string | number,
  work: () => Promise<unknown>,
): Database {
  let isDone = false;
  const interrupt: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      const isFound = result.rows.some((row) => Object.values(row).includes(value));
      if (isFound && !isDone) {
        isDone = true;
        await work();
      }
      return result;
    },
  };
  const database = connect(to);
  return { ...database, kysely: database.kysely.withPlugin(interrupt) };
}

/** Returns how the database would run the query, as text. */
export async function planOf(
  { kysely, rowLocks }: Database,
  query: { compile(executor: Database["kysely"]): CompiledQuery },
): Promise<string> {
  const { sql, parameters } = query.compile(kysely);
  const explain = rowLocks ? "explain" : "explain query plan";
  const explained = CompiledQuery.raw(`${explain} ${sql}`, [...parameters]);
  return JSON.stringify((await kysely.executeQuery(explained)).rows);
}

/** The settings of a command on the database; its other files may be in `dataDir`. */
export const settingsOf = (
  { location }: Pick<TestDatabase, "location">,
  dataDir: string,
): Readonly<Record<string, string>> =>
  "url" in location
    ? { SONDE_DATABASE_URL: location.url, SONDE_DATA_DIR: dataDir }
    : { SONDE_DATA_DIR: dirname(location.file) };

/** Copies a template that has the schema: migrating each would take longer than most tests. */
const LOCATIONS: Readonly<
  Record<StoreKind, (directory: string, empty: boolean) => Promise<StoreOptions["location"]>>
> = {
  async sqlite(directory, empty) {
    const file = join(directory, "sonde.db");
    if (!empty) writeFileSync(file, (sqliteTemplate ??= await migratedFile()));
    return { file };
  },
  async postgres(_directory, empty) {
    return { url: empty ? await createDatabase(inject("postgresUrl")) : await migratedPostgres() };
  },
};

/** Returns the URL of a new database with the schema, which nobody drops. */
export async function migratedPostgres(): Promise<string> {
  const server = inject("postgresUrl");
  postgresTemplate ??= migratedDatabase(server);
  return createDatabase(server, await postgresTemplate);
}

let sqliteTemplate: Buffer | undefined;
let postgresTemplate: Promise<string> | undefined;

async function migratedFile(): Promise<Buffer> {
  const directory = mkdtempSync(join(tmpdir(), "sonde-template-"));
  const file = join(directory, "sonde.db");
  await migrateOnly({ file });
  const bytes = readFileSync(file);
  rmSync(directory, { recursive: true });
  return bytes;
}

/** Returns its name. */
async function migratedDatabase(server: string): Promise<string> {
  const url = await createDatabase(server);
  await migrateOnly({ url });
  return new URL(url).pathname.slice(1);
}

async function migrateOnly(location: StoreOptions["location"]): Promise<void> {
  const sealer = createSealer({ current: randomBytes(32) });
  const store = await openStore({ location, clock: systemClock, sealer, usesSecrets: false });
  await store.close();
}

/** Shares one database, and a store on it, among the tests of a suite. */
export function sharedStore(
  kind: StoreKind,
  clock?: Clock,
): { readonly database: TestDatabase; readonly store: Store } {
  let [database, store]: [TestDatabase?, Store?] = [];
  beforeAll(async () => {
    database = await createTestDatabase(kind);
    store = await database.open(clock);
  });
  afterAll(() => database?.[Symbol.asyncDispose]());
  return { database: standIn(() => database), store: standIn(() => store) };
}

/** Stands for what hooks open before the tests run. */
export const standIn = <T extends object>(find: () => T | undefined): T =>
  new Proxy({} as T, { get: (_, name) => (find() as T)[name as keyof T] });

/** `empty` leaves out the schema. */
export async function createTestDatabase(
  kind: StoreKind,
  { empty = false } = {},
): Promise<TestDatabase> {
  const untrack = track(`${kind} database`);
  const directory = mkdtempSync(join(folderInMemory(), "sonde-store-"));
  const location = await LOCATIONS[kind](directory, empty);
  const sealer = createSealer({ current: randomBytes(32) });
  const stores: Store[] = [];
  return {
    location,
    async open(clock, onUnreadable) {
      const opened = await openStore({
        location,
        clock: clock ?? systemClock,
        sealer,
        ...(onUnreadable && { onUnreadable }),
      });
      const store = clock ? withClock(opened, clock) : opened;
      stores.push(store);
      return store;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(stores.map((store) => store.close()));
      if ("url" in location) await dropDatabase(location.url);
      rmSync(directory, { recursive: true, force: true });
      untrack();
    },
  };
}

const withClock = (store: Store, clock: Clock): Store => ({ ...store, ...clocked(store, clock) });

/** Replaces the time of the database server, which tests cannot set. */
const clocked = ({ transaction }: Store, clock: Clock): Pick<Store, "now" | "transaction"> => ({
  now: async () => clock.now(),
  // A transaction's own store creates its parts on use: a copy would lack them.
  transaction: (work) => transaction((inner) => work(Object.assign(inner, clocked(inner, clock)))),
});
