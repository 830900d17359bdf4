import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompiledQuery } from "kysely";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/runtime/clock.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";

function openDatabase() {
  const folder = mkdtempSync(join(tmpdir(), "sonde-sqlite-"));
  const { kysely } = openSqlite({ path: join(folder, "test.db"), clock: systemClock });
  onTestFinished(async () => {
    await kysely.destroy();
    rmSync(folder, { recursive: true, force: true });
  });
  const run = async (text: string) => (await kysely.executeQuery(CompiledQuery.raw(text))).rows;
  return { kysely, run };
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
