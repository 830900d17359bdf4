import { sql } from "kysely";
import type { Kysely } from "kysely";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { keptFrom } from "../../src/model/retention.ts";
import { encodeTime, newId, scheduledRunId } from "../../src/runtime/ids.ts";
import type { Database } from "../../src/store/database.ts";
import type { PendingRun } from "../../src/store/records.ts";
import { groupedQuery } from "../../src/store/results/result-pages.ts";
import type { Schema } from "../../src/store/schema.ts";
import type { Store } from "../../src/store/store.ts";
import { aReport, aRun } from "../support/runs.ts";
import { connect, createTestDatabase, planOf, storeKinds } from "../support/stores.ts";
import type { TestDatabase } from "../support/stores.ts";

const DAY = 86_400_000;
const TODAY = Math.floor(Date.now() / DAY) * DAY;
const DAYS = { details: 10, raw: 10, hours: 400, audit: 400 };

// SQLite has a single table, with rows in the order of their ids.
describe.runIf(storeKinds.includes("postgres"))("the daily tables of results on PostgreSQL", () => {
  let database: TestDatabase;
  let store: Store;
  let connection: Database;
  let raw: Kysely<Schema>;
  beforeEach(async () => {
    database = await createTestDatabase("postgres");
    store = await database.open();
    connection = connect(database);
    raw = connection.kysely;
  });
  afterEach(async () => {
    await raw.destroy();
    await database[Symbol.asyncDispose]();
  });

  const tables = async (of = "results"): Promise<string[]> => {
    const { rows } = await sql<{ name: string }>`
      select relname as name from pg_class join pg_inherits on inhrelid = oid
      where inhparent = ${of}::regclass order by 1`.execute(raw);
    return rows.map(({ name }) => name);
  };
  const tableOf = async (id: string): Promise<string | undefined> => {
    const { rows } = await sql<{ name: string }>`
      select tableoid::regclass::text as name from results where id = ${id}`.execute(raw);
    return rows[0]?.name;
  };
  const dayName = (day: number, of = "results"): string =>
    `${of}_${new Date(day).toISOString().slice(0, 10).replaceAll("-", "")}`;
  const record = async (...runs: readonly PendingRun[]): Promise<void> => {
    await store.pendingRuns.insert(runs);
    await store.results.record(runs.map((run) => aReport(run)));
  };
  /** The tables that open transactions have locked. */
  const opened = async (): Promise<string[]> => {
    const { rows } = await sql<{ name: string }>`
      select distinct relname as name from pg_locks
        join pg_class on oid = relation join pg_inherits on inhrelid = oid
      where database = (select oid from pg_database where datname = current_database())
        and inhparent = 'results'::regclass order by 1`.execute(raw);
    return rows.map(({ name }) => name);
  };
  /** Drops the days of results that have expired by `now`; returns the number of rows of each. */
  const drop = async (now: number) => {
    const kept = keptFrom(DAYS, now, Infinity);
    const dropped: number[] = [];
    for (let after; ;) {
      const { rows, next } = await store.retention.dropDay("results", { kept, after });
      if (!next) return dropped;
      dropped.push(rows);
      after = next;
    }
  };

  it("are created four days ahead, in addition to two for all other ids", async () => {
    await store.retention.makeAhead(TODAY + DAY);
    await store.retention.makeAhead(TODAY + DAY);
    const days = [1, 2, 3, 4].map((n) => TODAY + n * DAY);
    for (const of of ["results", "result_details"])
      expect(await tables(of)).toEqual([
        ...days.map((day) => dayName(day, of)),
        `${of}_before`,
        `${of}_default`,
      ]);
    const times = [TODAY, TODAY + DAY, TODAY + 5 * DAY - 1, TODAY + 5 * DAY];
    const runs = times.map((due_time) => runAt({ due_time }));
    await record(...runs);
    const ids = runs.map(({ result_id }) => result_id);
    expect(await Promise.all(ids.map(tableOf))).toEqual([
      "results_before",
      dayName(TODAY + DAY),
      dayName(TODAY + 4 * DAY),
      "results_default",
    ]);
    expect((await store.results.getMany(ids)).map(({ id }) => id)).toEqual(ids);
    const { duplicate } = await store.results.record(runs.map((run) => aReport(run)));
    expect(duplicate).toBe(4);
  });

  it("are created in the gap left by a clock that was ahead", async () => {
    for (const now of [TODAY + 300 * DAY, TODAY + DAY, TODAY + 299 * DAY])
      await store.retention.makeAhead(now);
    const days = [1, 2, 3, 4, 299, 300, 301, 302, 303].map((n) => dayName(TODAY + n * DAY));
    expect(await tables()).toEqual([...days, "results_before", "results_default"]);
  });

  it("are not created for a day with results in the default table", async () => {
    const early = runAt({ due_time: TODAY + 2 * DAY });
    await record(early);
    await store.retention.makeAhead(TODAY + DAY);
    expect(await tables()).not.toContain(dayName(TODAY + 2 * DAY));
    expect(await tables()).toContain(dayName(TODAY + 3 * DAY));
    expect(await tableOf(early.result_id)).toBe("results_default");
  });

  it("are dropped whole, unless a result of the day is kept", async () => {
    await store.retention.makeAhead(TODAY + DAY);
    const [first, second, third] = [1, 2, 3].map((n) => TODAY + n * DAY) as [
      number,
      number,
      number,
    ];
    const late = runAt({ due_time: second });
    await record(
      runAt({ due_time: first }),
      runAt({ due_time: first + 1 }),
      runAt({ due_time: third }),
    );
    await store.pendingRuns.insert([late]);
    await store.results.record([aReport(late, { start: second + 20 * DAY })]);
    // The first three days have expired according to their ids.
    expect(await drop(third + 13 * DAY)).toEqual([0, 2, 0, 1]);
    expect(await tables()).toEqual([dayName(second), dayName(TODAY + 4 * DAY), "results_default"]);
    expect(await store.results.get(late.result_id)).toBeDefined();
  });

  it("are not dropped while a transaction reads them", async () => {
    await record(runAt({ due_time: TODAY - 30 * DAY }));
    await raw.transaction().execute(async (reading) => {
      await sql`select count(*) from results`.execute(reading);
      expect(await drop(TODAY + 14 * DAY)).toEqual([0]);
    });
    expect(await drop(TODAY + 14 * DAY)).toEqual([1]);
  });

  it("are not opened by a query for ids of another day", async () => {
    await store.retention.makeAhead(TODAY + DAY);
    const id = runAt({ due_time: TODAY + 2 * DAY }).result_id;
    const planOf = async (where: ReturnType<typeof sql>): Promise<string> => {
      const { rows } = await sql`explain select * from results where ${where}`.execute(raw);
      return JSON.stringify(rows);
    };
    const one = [dayName(TODAY + 2 * DAY)];
    const named = (plan: string) => [...new Set(plan.match(/results_(\d{8}|before|default)\b/g))];
    expect(named(await planOf(sql`id = ${id}`))).toEqual(one);
    expect(named(await planOf(sql`id = any(${[id, id]})`))).toEqual(one);
  });

  it("are not opened for an empty page of results", async () => {
    await store.transaction(async ({ results }) => {
      expect(await results.listOfCall("call", { after: "", limit: 10 })).toEqual([]);
      expect(await opened()).toEqual([]);
    });
  });

  it("are not opened to find the latest result of a call that has none", async () => {
    await record(runAt({ due_time: TODAY, target_id: "ran" }));
    await store.transaction(async ({ callOverview }) => {
      expect([...(await callOverview.latest(["never ran"], TODAY + DAY))]).toEqual([]);
      expect(await opened()).toEqual([]);
      expect([...(await callOverview.latest(["ran"], TODAY + DAY)).keys()]).toEqual(["ran"]);
    });
  });

  it("are not opened to check the statistics of another day", async () => {
    await store.retention.makeAhead(TODAY + DAY);
    const day = TODAY - 3 * DAY;
    await record(runAt({ due_time: day, target_id: "call" }));
    await store.transaction(async ({ statChecks }) => {
      const within = { from: day, to: TODAY };
      expect(await statChecks.days("call", within)).toEqual([day]);
      expect((await statChecks.check("call", "DAY", day, within)).differing).toEqual([]);
      const place = { kind: "HOUR", time: day, call_id: "call", location_id: "local" } as const;
      expect(await statChecks.repair({ ...place, result: "COMPLETE" })).toBeUndefined();
      expect(await opened()).not.toContain(dayName(TODAY + 3 * DAY));
    });
  });

  it("answer a score from an index alone", async () => {
    const runs = Array.from({ length: 300 }, (_, n) =>
      runAt({ due_time: TODAY - DAY + n * 60_000, target_id: `call ${n % 3}` }),
    );
    await record(...runs);
    await sql`vacuum analyze results`.execute(raw);
    const { rows } = await sql`explain select location, result, total, uncertainty, count(*)
      from results where call = (select id from names where name = 'call 1')
        and time >= ${TODAY - DAY} and time < ${TODAY} and id > '0' group by 1, 2, 3, 4`.execute(
      raw,
    );
    expect(JSON.stringify(rows)).toMatch(/Index Only Scan using results_list_before/);
  });

  it("are planned once for a list, however many locations it has", async () => {
    const groups = [1, 2, 3].map((location) => ({ call: 1, location, result: 1 }));
    const plan = await planOf(
      connection,
      groupedQuery(connection, groups, { after: "", limit: 10 }),
    );
    expect(plan.match(/on results_default\b/g)).toHaveLength(1);
  });

  it("omit nothing from a list that is read page by page", async () => {
    await store.retention.makeAhead(TODAY + DAY);
    const target_id = newId(TODAY);
    const days = [-70, -40, -39, -12, -11, -10, -9, -2, -1, 0, 1, 2, 3];
    const runs = days.flatMap((day) =>
      [0, 9, 23.99].map((hour) =>
        runAt({ target_id, due_time: TODAY + day * DAY + hour * 3_600_000 }),
      ),
    );
    await store.pendingRuns.insert(runs);
    await store.results.record(
      runs.map((run, n) => aReport(run, { start: run.due_time + (n % 5) * 5 * 3_600_000 })),
    );
    const ids = runs.map(({ result_id }) => result_id).toSorted();
    for (const order of ["asc", "desc"] as const)
      for (const range of [{}, { from: TODAY - 80 * DAY, to: TODAY + 9 * DAY }]) {
        const found: string[] = [];
        for (let after = ""; ; after = found.at(-1)!) {
          const page = { after, order, limit: 2, ...range };
          const listed = await store.results.listOfCall(target_id, page);
          found.push(...listed.map(({ id }) => id));
          if (listed.length < 2) break;
        }
        expect(found).toEqual(order === "asc" ? ids : ids.toReversed());
      }
  });

  it("omit no result that started far from its trigger", async () => {
    await store.retention.makeAhead(TODAY + DAY);
    const target_id = newId(TODAY);
    const usual = runAt({ target_id, due_time: TODAY + DAY });
    const late = runAt({ target_id, due_time: TODAY - 9 * DAY });
    const early = runAt({ target_id, due_time: TODAY + 4 * DAY });
    await store.pendingRuns.insert([usual, late, early]);
    const start = TODAY + DAY;
    await store.results.record([
      aReport(usual),
      aReport(late, { start }),
      aReport(early, { start }),
    ]);
    const ids = [late, usual, early].map(({ result_id }) => result_id);
    const page = { after: "", limit: 10, from: start, to: start + 1 };
    const listed = await store.results.listOfCall(target_id, page);
    expect(listed.map(({ id }) => id)).toEqual(ids);
    const query = { call_id: target_id, location_id: null };
    const from = { time: start, afterId: null };
    for (const direction of ["forwards", "backwards"] as const) {
      const found = await store.stats.raw(
        query,
        ["COMPLETE", "CONNECTION_ERROR"],
        from,
        direction,
        9,
      );
      expect(found.map((row) => row.id).toSorted()).toEqual(ids);
    }
    const hour = await store.stats.rawOfPeriod({ ...query, kind: "HOUR" }, start);
    expect(hour).toHaveLength(3);
  });

  it("compare ids byte by byte", async () => {
    const { rows } = await sql<{ collation_name: string }>`
      select collation_name from information_schema.columns
      where (table_name, column_name) in (('results', 'id'), ('result_details', 'result_id'))`.execute(
      raw,
    );
    expect(rows.map((row) => row.collation_name)).toEqual(["C", "C"]);
    expect(encodeTime(TODAY) < encodeTime(TODAY + 1)).toBe(true);
  });
});

/** Returns a run triggered at `due_time`, as its id says. */
const runAt = (change: Partial<PendingRun> & { readonly due_time: number }): PendingRun =>
  aRun({ result_id: scheduledRunId(change.due_time, newId(TODAY)), ...change });
