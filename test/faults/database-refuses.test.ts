// PostgreSQL answers but cannot store: the error counts as unavailable, so the bus redelivers.
import { sql } from "kysely";
import { expect, inject, it } from "vitest";
import { toAnswer } from "../../src/api/http/errors.ts";
import { inTransaction } from "../../src/store/database.ts";
import { isUnavailable } from "../../src/model/errors.ts";
import { openPostgres } from "../../src/store/postgres.ts";
import { createDatabase } from "../support/postgres.ts";

async function openDatabase() {
  const url = await createDatabase(inject("postgresUrl"));
  const database = openPostgres({ url });
  return {
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

const isReportedUnavailable = (error: unknown): boolean =>
  isUnavailable(error) &&
  toAnswer(error).body.error_msg === "the database is unavailable; try again in 5 s";

const raising = (code: string): string =>
  `do $$ begin raise exception using errcode = '${code}'; end $$`;
