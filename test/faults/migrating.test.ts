// Migrating a schema that others use: at once from several processes, beside a backup, or only when
// the operator says so.
import { sql } from "kysely";
import type { Kysely } from "kysely";
import { Migrator } from "kysely/migration";
import { describe, expect, inject, it } from "vitest";
import { MIGRATIONS, NEWEST } from "../../src/store/migrate.ts";
import { openPostgres } from "../../src/store/postgres.ts";
import type { Schema } from "../../src/store/schema.ts";
import { createDatabase } from "../support/postgres.ts";
import { oneLine, runSonde, startSonde } from "../support/process.ts";

const PROCESSES = 4;
const NAMES = Object.keys(MIGRATIONS);
const NOTHING = "nothing to do: the database schema is up to date\n";
/** Changes the table of results, which is in use all the time. */
const BIG = "0016-results-by-day";

const newDatabase = () => createDatabase(inject("postgresUrl"));

/** A database with the schema as it was before this migration. */
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

/** As `pg_dump` does. */
async function lockToRead(kysely: Kysely<Schema>): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = 'public'`.execute(kysely);
  const tables = sql.join(rows.map(({ name }) => sql.table(name)));
  await sql`lock table ${tables} in access share mode`.execute(kysely);
}

describe.concurrent("migrating", { timeout: 90_000 }, () => {
  it.each([
    ["an empty database", newDatabase, NAMES],
    ["the previous schema", () => databaseBefore(NEWEST), [NEWEST]],
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

  it("waits for a backup without holding up the service", async () => {
    const url = await databaseBefore(BIG);
    await using kysely = openPostgres({ url }).kysely;
    await using backup = openPostgres({ url, timeoutMs: 0 }).kysely;
    const reading = await backup.startTransaction().execute();
    await lockToRead(reading);
    await using migrating = startSonde(["migrate"], { env: { SONDE_DATABASE_URL: url } });
    const waits: number[] = [];
    const since = performance.now();
    while (performance.now() - since < 6000) {
      const asked = performance.now();
      await kysely.selectFrom("results").select("id").limit(1).execute();
      waits.push(performance.now() - asked);
    }
    expect(migrating.stdout()).toBe("");
    // It did try meanwhile, and others waited for it, but not for long.
    expect(Math.max(...waits)).toBeGreaterThan(500);
    expect(Math.max(...waits)).toBeLessThan(2500);
    await reading.rollback().execute();
    expect(await migrating.exited).toEqual({ code: 0, signal: null });
    expect(migrating.stdout()).toBe(printedFor(NAMES.filter((name) => name >= BIG)));
  });

  it("is left to the operator with SONDE_MIGRATE=off", async () => {
    const url = await databaseBefore(NEWEST);
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
