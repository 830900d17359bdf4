// A PostgreSQL that is too slow: statements are cancelled, also on the server, and an exhausted
// pool answers instead of waiting forever.
import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import { describe, expect, inject, it } from "vitest";
import { isUnavailable } from "../../src/model/errors.ts";
import { newApiKey } from "../../src/runtime/api-key.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import type { PostgresOptions } from "../../src/store/postgres/postgres.ts";
import { httpExchange } from "../support/client.ts";
import { createDatabase } from "../support/postgres.ts";
import { startSonde } from "../support/process.ts";
import { migratedPostgres } from "../support/stores.ts";
import { until } from "../support/until.ts";

async function open(options: Omit<PostgresOptions, "url"> = {}) {
  const url = await createDatabase(inject("postgresUrl"));
  const { kysely } = openPostgres({ url, ...options });
  return {
    url,
    kysely,
    sleep: (seconds: number) => sql`select pg_sleep(${seconds})`.execute(kysely),
    [Symbol.asyncDispose]: () => kysely.destroy(),
  };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** Returns what the server is doing for other connections to this database. */
async function active({ url }: Opened): Promise<readonly string[]> {
  const { kysely } = openPostgres({ url });
  const { rows } = await sql<{ query: string }>`
    select query from pg_stat_activity
    where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`.execute(
    kysely,
  );
  await kysely.destroy();
  return rows.map(({ query }) => query);
}

describe.concurrent("a database that is too slow", () => {
  it("cancels a timed-out statement on the server too", async () => {
    await using opened = await open({ timeoutMs: 300 });
    const asked = performance.now();
    await expect(opened.sleep(30)).rejects.toSatisfy(isUnavailable);
    expect(performance.now() - asked).toBeLessThan(5000);
    expect(await active(opened)).toEqual([]);
    await opened.sleep(0);
  });

  it("gives long work the time it needs, despite the database's own limit", async () => {
    await using opened = await open();
    const name = sql.table(new URL(opened.url).pathname.slice(1));
    await sql`alter database ${name} set statement_timeout = '200ms'`.execute(opened.kysely);
    await using patient = openPostgres({ url: opened.url, timeoutMs: 0 }).kysely;
    await sql`select pg_sleep(1)`.execute(patient);
  });

  it("is unavailable, after seconds, while every connection is busy", async () => {
    await using opened = await open({ maxConnections: 2 });
    const busy = [opened.sleep(8), opened.sleep(8)];
    // Timers in this process: a stall delays both, and the second one leaves time for the refusal.
    const overdue = delay(7000).then(() => delay(500, "refused too late"));
    const refused = opened.sleep(0).catch((error: unknown) => error);
    expect(await Promise.race([refused, overdue])).toSatisfy(
      (error) =>
        isUnavailable(error) &&
        (error as Error).message ===
          "no connection to the database was free for 5 s: this process has 2 (SONDE_DATABASE_CONNECTIONS)",
    );
    await Promise.all(busy);
    await opened.sleep(0);
  });

  it("frees the locks of a process that stalls in a transaction", async () => {
    await using opened = await open({ maxConnections: 2 });
    await sql`create table held (id int)`.execute(opened.kysely);
    const standing = await opened.kysely.startTransaction().execute();
    await sql`lock table held`.execute(standing);
    await until(async () => {
      await sql`select 1 from held`.execute(opened.kysely);
    });
    await expect(sql`select 1`.execute(standing)).rejects.toSatisfy(isUnavailable);
    await standing
      .rollback()
      .execute()
      .catch(() => undefined);
  });

  it("makes the API answer 503 within the configured limits", async () => {
    const url = await migratedPostgres();
    const key = newApiKey();
    await using sonde = startSonde(["serve"], {
      env: {
        SONDE_DATABASE_URL: url,
        SONDE_BOOTSTRAP_KEY: key,
        SONDE_DATABASE_CONNECTIONS: "4",
        SONDE_DATABASE_TIMEOUT: "8",
      },
    });
    await sonde.ready();
    const exchange = httpExchange(await sonde.api(), key);
    const ask = () => exchange({ method: "GET", path: "/api/2/calls/" });
    expect((await ask()).status).toBe(200);

    await using kysely = openPostgres({ url, timeoutMs: 0 }).kysely;
    const locked = await kysely.startTransaction().execute();
    await sql`lock table documents`.execute(locked);
    const asked = performance.now();
    const answers = await Promise.all(Array.from({ length: 8 }, ask));
    expect(performance.now() - asked).toBeLessThan(20_000);
    for (const { status, headers } of answers)
      expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
    // The process's own statements may have had the connections for longer than the requests wait.
    for (const reason of ["this process has 4", "due to statement timeout"])
      await until(() => {
        const errors = sonde.log().map(({ err }) => JSON.stringify(err));
        expect(errors).toContainEqual(expect.stringContaining(reason));
      });
    await locked.rollback().execute();
    await until(async () => expect((await ask()).status).toBe(200));
  });
});
