// Migrating a schema that is in use: from several processes at once, during a backup, or only when
// the operator orders it.
import { setTimeout as pause } from "node:timers/promises";
import { sql } from "kysely";
import type { Kysely } from "kysely";
import { Migrator } from "kysely/migration";
import { Client } from "pg";
import { describe, expect, inject, it } from "vitest";
import { MIGRATIONS, NEWEST } from "../../src/store/migrate.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import type { Schema } from "../../src/store/schema.ts";
import { createDatabase } from "../support/postgres.ts";
import { oneLine, runSonde, startSonde } from "../support/process.ts";

const PROCESSES = 4;
const NAMES = Object.keys(MIGRATIONS);
const NOTHING = "nothing to do: the database schema is up to date\n";
/** Changes the table of results, which is constantly in use. */
const BIG = "0016-results-by-day";

const newDatabase = () => createDatabase(inject("postgresUrl"));

/** Creates a database with the schema as it was before the newest migration. */
async function databaseBeforeNewest(): Promise<string> {
  template ??= databaseBefore(NEWEST);
  return createDatabase(inject("postgresUrl"), new URL(await template).pathname.slice(1));
}
let template: Promise<string> | undefined;

async function databaseBefore(migration: string): Promise<string> {
  const url = await newDatabase();
  await using kysely = openPostgres({ url }).kysely;
  const earlier = Object.fromEntries(
    Object.entries(MIGRATIONS).filter(([name]) => name < migration),
  );
  const migrator = new Migrator({ db: kysely, provider: { getMigrations: async () => earlier } });
  const { error } = await migrator.migrateToLatest();
  if (error) throw error;
  return url;
}

const printedFor = (applied: readonly string[]): string =>
  applied.map((name) => `applied ${name}\n`).join("");

/** Reads as `pg_dump` does: in one transaction that locks every table until it is disposed of. */
async function startBackup(url: string): Promise<AsyncDisposable> {
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query<{ tables: string }>(`
    select string_agg(quote_ident(tablename), ', ') as tables
    from pg_tables where schemaname = 'public'`);
  await client.query(`begin; lock table ${rows[0]?.tables} in access share mode`);
  return { [Symbol.asyncDispose]: () => client.end() };
}

/** Resolves when some query waits for a lock in this database, or if not `isWaiting`, none does. */
async function untilWaiting(kysely: Kysely<Schema>, isWaiting: boolean): Promise<void> {
  const waiting = sql<{ found: boolean }>`
    select exists (select 1 from pg_locks join pg_database on oid = database
      where datname = current_database() and not granted) as found`;
  while ((await waiting.execute(kysely)).rows[0]?.found !== isWaiting) await pause(5);
}

describe.concurrent("migrating", { timeout: 90_000 }, () => {
  it.each([
    ["an empty database", newDatabase, NAMES],
    ["the previous schema", databaseBeforeNewest, [NEWEST]],
  ])("happens once however many processes start on %s", async (_, makeDatabase, missing) => {
    const env = { SONDE_DATABASE_URL: await makeDatabase() };
    const ends = await Promise.all(
      Array.from({ length: PROCESSES }, () => runSonde(["migrate"], { env })),
    );
    expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual(ends.map(() => [0, ""]));
    expect(ends.map(({ stdout }) => stdout).toSorted()).toEqual(
      [printedFor(missing), ...Array<string>(PROCESSES - 1).fill(NOTHING)].toSorted(),
    );
  });

  it("keeps to its schema in a database that others use", async () => {
    const url = await newDatabase();
    const [own, others] = ["own", "others"].map((schema) => {
      const inSchema = new URL(url);
      inSchema.searchParams.set("options", `-c search_path=${schema}`);
      return { SONDE_DATABASE_URL: inSchema.href };
    });
    const { stderr: refusal } = await runSonde(["migrate"], { env: own });
    expect(oneLine(refusal)).toBe(
      "sonde: the search_path names no schema that exists: create one, or correct it in the database or its URL",
    );
    await using kysely = openPostgres({ url }).kysely;
    for (const schema of ["own", "others"])
      await sql`create schema ${sql.ref(schema)}`.execute(kysely);
    for (const env of [others, own]) {
      const { stdout, stderr } = await runSonde(["migrate"], { env });
      expect([stdout, stderr]).toEqual([printedFor(NAMES), ""]);
      expect((await runSonde(["migrate"], { env })).stdout).toBe(NOTHING);
    }
    await using sonde = startSonde(["serve"], { env: own });
    await sonde.ready();
  });

  it("waits for a backup without holding up the service", async () => {
    const url = await databaseBefore(BIG);
    await using kysely = openPostgres({ url }).kysely;
    const backup = await startBackup(url);
    await using migrating = startSonde(["migrate"], { env: { SONDE_DATABASE_URL: url } });
    try {
      for (let attempt = 0; attempt < 3; attempt++) {
        await untilWaiting(kysely, true);
        // This waits behind the migration, which gives way although the backup goes on.
        await kysely.selectFrom("results").select("id").limit(1).execute();
        await untilWaiting(kysely, false);
      }
      expect(migrating.stdout()).toBe("");
    } finally {
      await backup[Symbol.asyncDispose]();
    }
    expect(await migrating.exited).toEqual({ code: 0, signal: null });
    expect(migrating.stdout()).toBe(printedFor(NAMES.filter((name) => name >= BIG)));
  });

  it("is announced by the command or the process that does it on an older schema", async () => {
    const [env, served, empty] = await Promise.all(
      [databaseBeforeNewest(), databaseBeforeNewest(), newDatabase()].map(async (url) => ({
        SONDE_DATABASE_URL: await url,
      })),
    );
    const announced = `the database now has schema ${NEWEST}: an older Sonde no longer starts on it\n`;
    for (const said of [announced, ""])
      expect(await runSonde(["keys", "list"], { env })).toMatchObject({ code: 0, stderr: said });
    expect(await runSonde(["keys", "list"], { env: empty })).toMatchObject({ code: 0, stderr: "" });
    await using sonde = startSonde(["serve"], { env: served });
    await sonde.ready();
    expect(sonde.stdout()).toContain(`"schema":"${NEWEST}","msg":"database schema migrated"`);
  });

  it("is up to the operator with SONDE_MIGRATE=off", async () => {
    const url = await databaseBeforeNewest();
    const env = { SONDE_DATABASE_URL: url, SONDE_MIGRATE: "off" };
    const previous = NAMES.at(-2);
    for (const command of ["serve", "keys list"]) {
      const { code, stdout, stderr } = await runSonde(command.split(" "), { env });
      expect([code, stdout]).toEqual([1, ""]);
      expect(oneLine(stderr)).toBe(
        `sonde: the database has schema ${previous}, and this Sonde needs ${NEWEST}: run \`sonde migrate\` of this version, or set SONDE_MIGRATE=on`,
      );
    }
    const migrated = await runSonde(["migrate"], { env });
    expect(migrated).toMatchObject({ code: 0, stdout: `applied ${NEWEST}\n`, stderr: "" });
    await using sonde = startSonde(["serve"], { env });
    await sonde.ready();
  });
});
