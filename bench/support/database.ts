// The database of a benchmark: a SQLite file, or its own PostgreSQL server, durable as in
// production.
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { Client } from "pg";
import { findPostgres } from "../../test/support/programs.ts";
import { startPostgres } from "../../test/support/postgres.ts";
import { createSealer } from "../../src/runtime/sealer.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { StoreOptions } from "../../src/store/open-store.ts";
import type { Store } from "../../src/store/store.ts";
import { makeFolder } from "./children.ts";

/** The master key of every process of a benchmark. */
export const MASTER_KEY = Buffer.alloc(32, 7);

/** The first key of every benchmark's store. */
export const API_KEY = "b".repeat(32);

export type Location = StoreOptions["location"];

export interface BenchDatabase extends AsyncDisposable {
  /** Settings for a process that uses it. */
  readonly env: Readonly<Record<string, string>>;
  /** Process id of the PostgreSQL server. */
  readonly pid?: number;
  /** The SQLite file. */
  readonly file?: string;
  readonly location: Location;
  openStore(): Promise<Store>;
  /** Runs a statement without parameters; returns its rows. */
  query(sql: string): Promise<readonly Record<string, unknown>[]>;
}

export function createSqlite(): BenchDatabase {
  const folder = makeFolder();
  const file = join(folder, "sonde.db");
  return {
    env: { SONDE_DATA_DIR: folder },
    file,
    location: { file },
    openStore: () => openBenchStore({ file }),
    async query(sql) {
      const database = new DatabaseSync(file);
      try {
        return database.prepare(sql).all();
      } finally {
        database.close();
      }
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

export const NO_POSTGRES = "PostgreSQL: apt-get install postgresql";

/** Undefined if PostgreSQL is not installed. */
export async function createPostgres(): Promise<BenchDatabase | undefined> {
  if (findPostgres() === undefined) return undefined;
  const server = await startPostgres({ durable: true });
  const url = await server.createDatabase();
  const client = new Client(url);
  client.on("error", () => undefined); // when a benchmark fails, the server stops first
  await client.connect();
  return {
    env: { SONDE_DATABASE_URL: url },
    pid: server.pid,
    location: { url },
    openStore: () => openBenchStore({ url }),
    query: async (sql) => (await client.query<Record<string, unknown>>(sql)).rows,
    async [Symbol.asyncDispose]() {
      await client.end();
      await server[Symbol.asyncDispose]();
    },
  };
}

export const openBenchStore = (location: Location): Promise<Store> =>
  openStore({ location, clock: systemClock, sealer: createSealer({ current: MASTER_KEY }) });
