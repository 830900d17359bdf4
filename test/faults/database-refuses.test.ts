// PostgreSQL answers but cannot store: the error counts as unavailable, so the bus redelivers.
import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { expect, inject, it } from "vitest";
import { toErrorAnswer } from "../../src/api/http/errors.ts";
import { inTransaction } from "../../src/store/database.ts";
import { isUnavailable } from "../../src/model/errors.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import { createDatabase } from "../support/postgres.ts";
import { oneLine, runSonde, startSonde } from "../support/process.ts";
import { until } from "../support/until.ts";

async function openDatabase() {
  const url = await createDatabase(inject("postgresUrl"));
  const database = openPostgres({ url });
  return {
    url,
    database,
    [Symbol.asyncDispose]: () => database.kysely.destroy(),
  };
}

it.each([
  ["is a standby after a failover", "25006"],
  ["gave up waiting for a lock", "55P03"],
  ["had the statement cancelled by its administrator", "57014"],
  ["cannot read its disk", "58030"],
  ["has no room left", "53100"],
])("the database is unavailable while its server %s", async (_, code) => {
  await using opened = await openDatabase();
  const refused = sql.raw(raising(code)).execute(opened.database.kysely);
  await expect(refused).rejects.toSatisfy(isReportedUnavailable);
});

it("the database is unavailable after a deadlock on every attempt", async () => {
  await using opened = await openDatabase();
  let attempts = 0;
  const collided = inTransaction(opened.database, async ({ kysely }) => {
    attempts += 1;
    await sql.raw(raising("40P01")).execute(kysely);
  });
  await expect(collided).rejects.toSatisfy(isReportedUnavailable);
  expect(attempts).toBe(4);
});

it("transactions see what others commit, despite the isolation that the database sets", async () => {
  await using opened = await openDatabase();
  const { kysely: other } = opened.database;
  const name = sql.table(new URL(opened.url).pathname.slice(1));
  await sql`alter database ${name} set default_transaction_isolation = 'serializable'`.execute(
    other,
  );
  await sql`create table counted (n integer)`.execute(other);
  await sql`insert into counted values (1)`.execute(other);
  const count = sql`update counted set n = n + 1`;
  await using kysely = openPostgres({ url: opened.url }).kysely;
  await kysely.transaction().execute(async (transaction) => {
    await sql`select n from counted`.execute(transaction);
    await count.execute(other);
    await count.execute(transaction);
  });
  expect((await sql`select n from counted`.execute(kysely)).rows).toEqual([{ n: 3 }]);
});

it("a database that cannot store all characters is refused with advice", async () => {
  await using opened = await openDatabase();
  const { kysely } = opened.database;
  const url = new URL(opened.url);
  url.pathname += "_latin1";
  const make = sql.raw(
    `create database ${url.pathname.slice(1)} encoding 'LATIN1' locale 'C' template template0`,
  );
  await make.execute(kysely);
  const { code, stderr } = await runSonde(["migrate"], { env: { SONDE_DATABASE_URL: url.href } });
  expect([code, oneLine(stderr)]).toEqual([
    1,
    "sonde: the database can store only the characters of LATIN1: create it with `encoding 'UTF8' locale 'C' template template0`",
  ]);
});

it("a database that belongs to another role is refused with advice", async () => {
  await using opened = await openDatabase();
  const role = `sonde_${randomUUID().slice(0, 8)}`;
  await sql.raw(`create role ${role} login`).execute(opened.database.kysely);
  const stranger = new URL(opened.url);
  stranger.username = role;
  const sonde = (url: string, ...args: string[]) =>
    runSonde(args, { env: { SONDE_DATABASE_URL: url } });
  const refusal = (what: string): string =>
    `PostgreSQL at ${stranger.host} denies its role permissions that Sonde needs (permission denied for ${what}): make the role in SONDE_DATABASE_URL the owner of the database and its tables`;
  expect(oneLine((await sonde(stranger.href, "migrate")).stderr)).toBe(
    `sonde: ${refusal("schema public")}`,
  );
  expect(await sonde(opened.url, "migrate")).toMatchObject({ code: 0 });
  expect(oneLine((await sonde(stranger.href, "keys", "list")).stderr)).toBe(
    `sonde: ${refusal("table kysely_migration")}`,
  );
  const { stdout } = await sonde(stranger.href, "doctor");
  expect(stdout).toMatch(
    /^FAILURE +database .* denies its role .*\n +→ make the role in SONDE_DATABASE_URL the owner/m,
  );
});

it("the doctor says that a database refuses changes, although it can be read", async () => {
  await using opened = await openDatabase();
  const { kysely } = opened.database;
  const env = { SONDE_DATABASE_URL: opened.url };
  expect(await runSonde(["migrate"], { env })).toMatchObject({ code: 0 });
  expect((await runSonde(["doctor"], { env })).stdout).toMatch(/^ok +database /m);
  const name = sql.table(new URL(opened.url).pathname.slice(1));
  await sql`alter database ${name} set default_transaction_read_only = on`.execute(kysely);
  const { stdout } = await runSonde(["doctor"], { env });
  expect(stdout).toMatch(
    /^FAILURE +database .* refuses every change: default_transaction_read_only is on\n +→ turn it off/m,
  );
});

it("a hub whose database refuses every change says so, although it can be read", async () => {
  const url = await createDatabase(inject("postgresUrl"));
  await using sonde = startSonde(["serve"], { env: { SONDE_DATABASE_URL: url } });
  await sonde.ready();
  const ops = await sonde.ops();
  await using kysely = openPostgres({ url }).kysely;
  const name = sql.table(new URL(url).pathname.slice(1));
  await sql`alter database ${name} set default_transaction_read_only = on`.execute(kysely);
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`.execute(kysely);
  await until(async () => {
    expect(await (await fetch(`${ops}/readyz`)).json()).toEqual({
      status: "ready",
      degraded: [{ part: "database", reason: "it refuses every change: `sonde doctor` says why" }],
    });
    expect(await (await fetch(`${ops}/metrics`)).text()).toContain("\nsonde_database_up 0\n");
  });
});

const isReportedUnavailable = (error: unknown): boolean =>
  isUnavailable(error) &&
  toErrorAnswer(error).body.error_msg === "the database is unavailable; try again in 5 s";

const raising = (code: string): string =>
  `do $$ begin raise exception using errcode = '${code}'; end $$`;
