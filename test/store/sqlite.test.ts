import { mkdtempSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompiledQuery } from "kysely";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/runtime/clock.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";

function openDatabase() {
  const folder = mkdtempSync(join(tmpdir(), "sonde-sqlite-"));
  const path = join(folder, "test.db");
  const { kysely } = openSqlite({ path, clock: systemClock });
  onTestFinished(async () => {
    await kysely.destroy();
    rmSync(folder, { recursive: true, force: true });
  });
  const run = async (text: string) => (await kysely.executeQuery(CompiledQuery.raw(text))).rows;
  /** Runs texts in a transaction, one after another. */
  const transact = (...texts: readonly string[]) =>
    kysely.transaction().execute(async (transaction) => {
      for (const text of texts) await transaction.executeQuery(CompiledQuery.raw(text));
    });
  return { path, kysely, run, transact };
}

it("reads all columns that a table has now, not those of the first time", async () => {
  const { run } = openDatabase();
  await run("create table things as select 1 as a");
  expect(await run("select * from things")).toEqual([{ a: 1 }]);
  await run("alter table things add column b integer default 2");
  expect(await run("select * from things")).toEqual([{ a: 1, b: 2 }]);
});

it("runs SQL text that only reads during a transaction, and other text after it", async () => {
  const { kysely, run } = openDatabase();
  await run("create table things as select 1 as last_update");
  const { promise: read, resolve: endRead } = Promise.withResolvers<void>();
  const transaction = kysely.transaction().execute(() => read);
  const values = "with given as (select 2 as value)";
  const written = Promise.all([
    run(`${values} insert into things select value from given`),
    run(` WITH given AS (SELECT 1 AS value)
      UPDATE things SET last_update = 3 FROM given WHERE last_update = given.value`),
  ]);
  expect(await run("\n  select last_update from things")).toEqual([{ last_update: 1 }]);
  expect(await run(`${values} select last_update, value from things, given`)).toEqual([
    { last_update: 1, value: 2 },
  ]);
  endRead();
  await Promise.all([transaction, written]);
  expect(await run("select last_update from things order by 1")).toEqual([
    { last_update: 2 },
    { last_update: 3 },
  ]);
});

it("commits transactions that end together at once, and each before it resolves", async () => {
  const { path, run, transact } = openDatabase();
  await run("create table things (name text)");
  const before = statSync(`${path}-wal`).size;
  await transact("insert into things values ('a')");
  const lone = statSync(`${path}-wal`).size - before;
  expect(await run("select name from things")).toEqual([{ name: "a" }]);
  await Promise.all(Array.from({ length: 20 }, () => transact("insert into things values ('b')")));
  expect(statSync(`${path}-wal`).size - before - lone).toBe(lone);
  expect(await run("select count(*) as things from things")).toEqual([{ things: 21 }]);
});

it("rolls back only the transaction that fails, among others that end together", async () => {
  const { run, transact } = openDatabase();
  await run("create table things (name text unique)");
  const insert = (name: string) => `insert into things values ('${name}')`;
  const ended = await Promise.allSettled([
    transact(insert("a")),
    transact(insert("b"), insert("a")),
    transact(insert("c")),
    run(insert("d")),
    transact(insert("b"), insert("e")),
  ]);
  expect(ended.map(({ status }) => status)).toEqual([
    "fulfilled",
    "rejected",
    "fulfilled",
    "fulfilled",
    "fulfilled",
  ]);
  const names = (await run("select name from things order by 1")).map(
    (row) => Object.values(row as object)[0],
  );
  expect(names).toEqual(["a", "b", "c", "d", "e"]);
});

it("rejects all transactions that SQLite rolls back with one on a full disk", async () => {
  const { run, transact } = openDatabase();
  await run("create table things (name text)");
  await run("pragma max_page_count = 10");
  const ended = await Promise.allSettled([
    transact("insert into things values ('a')"),
    transact("insert into things values (zeroblob(1000000))"),
    transact("insert into things values ('b')"),
  ]);
  expect(ended.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
  for (const { reason } of ended.slice(0, 2) as PromiseRejectedResult[])
    expect(reason).toMatchObject({ code: "unavailable", message: expect.stringMatching(/full/) });
  expect(await run("select name from things")).toEqual([{ name: "b" }]);
});

it("commits what has ended before it closes", async () => {
  const { path, kysely, run, transact } = openDatabase();
  await run("create table things (name text)");
  const inserted = transact("insert into things values ('a')");
  await kysely.destroy();
  await inserted;
  const again = openSqlite({ path, clock: systemClock }).kysely;
  const { rows } = await again.executeQuery(CompiledQuery.raw("select name from things"));
  await again.destroy();
  expect(rows).toEqual([{ name: "a" }]);
});

it("reads through a link what is still in the log", async () => {
  const { path, run } = openDatabase();
  await run("create table things as select 1 as a");
  const link = `${path}.link`;
  symlinkSync(path, link);
  const { kysely } = openSqlite({ path: link, clock: systemClock, readOnly: true });
  onTestFinished(() => kysely.destroy());
  const { rows } = await kysely.executeQuery(CompiledQuery.raw("select a from things"));
  expect(rows).toEqual([{ a: 1 }]);
});

it("rejects, and only so, what comes after it has closed", async () => {
  const { kysely, run, transact } = openDatabase();
  await kysely.destroy();
  const statement = "create table things (name text)";
  await expect(transact(statement)).rejects.toThrow("database is not open");
  await expect(run(statement)).rejects.toThrow("database is not open");
});
