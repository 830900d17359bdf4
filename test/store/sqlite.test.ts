import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompiledQuery } from "kysely";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/runtime/clock.ts";
import { openSqlite } from "../../src/store/sqlite.ts";

it("reads all columns that a table has now, not those of the first time", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sonde-sqlite-"));
  const { kysely } = openSqlite({ path: join(folder, "test.db"), clock: systemClock });
  onTestFinished(async () => {
    await kysely.destroy();
    rmSync(folder, { recursive: true, force: true });
  });
  const run = async (text: string) => (await kysely.executeQuery(CompiledQuery.raw(text))).rows;
  await run("create table things as select 1 as a");
  expect(await run("select * from things")).toEqual([{ a: 1 }]);
  await run("alter table things add column b integer default 2");
  expect(await run("select * from things")).toEqual([{ a: 1, b: 2 }]);
});
