// Repairs statistics from their results, while others are recorded.
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { daysToCheck, rebuildStats } from "../../src/aggregator/rebuild-stats.ts";
import { runCommand } from "../../src/commands/command-line.ts";
import { formatPeriodTime } from "../../src/model/instant.ts";
import { RETENTION_LEASE } from "../../src/model/retention.ts";
import type { TimeSpan } from "../../src/model/stat-check.ts";
import type { RunReport } from "../../src/model/result.ts";
import { newId } from "../../src/runtime/ids.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import type { Database } from "../../src/store/database.ts";
import { numbersOf } from "../../src/store/names.ts";
import type { Store } from "../../src/store/store.ts";
import { expectStatisticsOfRows, readLedger } from "../support/ledger.ts";
import { makeFolder } from "../support/process.ts";
import { aReport, aRun, T0 } from "../support/runs.ts";
import { connect, settingsOf, sharedStore, storeKinds } from "../support/stores.ts";

const HOUR = 3_600_000;
const ALWAYS = { from: 0, to: Number.MAX_SAFE_INTEGER };

describe.each(storeKinds)("rebuilding statistics on %s", (kind) => {
  const { database, store } = sharedStore(kind);
  let raw: Database;
  beforeAll(() => {
    raw = connect(database);
  });
  afterAll(() => raw.kysely.destroy());

  /** Orders runs of the call from `T0` on, one each half hour, and returns reports on them. */
  const reportsOf = async (call: string, count: number, first = 0): Promise<RunReport[]> => {
    const runs = Array.from({ length: count }, (_, n) =>
      aRun({
        target_id: call,
        due_time: T0 + (first + n) * (HOUR / 2),
        location_id: n % 3 === 0 ? "far" : "local",
      }),
    );
    await store.pendingRuns.insert(runs);
    return runs.map((run, n) =>
      aReport(run, {
        total: 100 + ((n * 37) % 50),
        result: n % 5 === 4 ? "HTTP_SERVER_ERROR" : "COMPLETE",
      }),
    );
  };
  const measured = async (count: number): Promise<string> => {
    const call = newId(T0);
    await store.results.record(await reportsOf(call, count));
    return call;
  };
  /** Returns a row of the statistics, found by its key. */
  const row = async (call: string, period: string, time: number, location = "local") => {
    const numbers = await numbersOf(raw, [call, period, location, "COMPLETE"]);
    const of = { call: numbers.get(call)!, kind: numbers.get(period)!, period: time };
    const key = {
      ...of,
      location: numbers.get(location)!,
      result: numbers.get("COMPLETE")!,
    };
    const found = await raw.kysely
      .selectFrom("stats")
      .selectAll()
      .where((eb) => eb.and(key))
      .executeTakeFirst();
    return { key, id: found?.id ?? 0 };
  };
  const change = async (id: number, values: Readonly<Record<string, number>>) =>
    void (await raw.kysely.updateTable("stats").set(values).where("id", "=", id).execute());
  const rebuild = async (callIds: readonly string[], span: TimeSpan = ALWAYS, by = store) => {
    const repaired: string[] = [];
    let [days, pauses] = [0, 0];
    const pause = async () => void (pauses += 1);
    const outcome = await rebuildStats({
      store: by,
      clock: { ...systemClock, pause },
      span,
      callIds,
      onDay: () => void (days += 1),
      onRepaired: ({ kind, time, location_id }, fields) =>
        void repaired.push(
          `${kind} ${formatPeriodTime(time)} ${location_id}: ${Object.keys(fields).join(" ")}`,
        ),
    });
    return { ...outcome, repaired, days, pauses };
  };
  const expectRight = async (call: string): Promise<void> => {
    const schedule = { target_id: call } as Parameters<typeof readLedger>[1][number];
    await expectStatisticsOfRows(store, await readLedger(store, [schedule]));
  };

  /** Counts the queries that wait for a lock. The embedded database has no other connection. */
  const waiting = async (): Promise<number> =>
    (
      await sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(raw.kysely)
    ).rows.length;

  it("finds nothing if all is well, and changes nothing", async () => {
    const call = await measured(60);
    const { id } = await row(call, "MONTH", Date.UTC(2026, 9, 1));
    // Changes the last digits, as recording results in another order would.
    await raw.kysely
      .updateTable("stats")
      .set((eb) => ({ mean: eb("mean", "*", 1 + 1e-13) }))
      .where("id", "=", id)
      .execute();
    const moments = () =>
      raw.kysely.selectFrom("stats").select(["mean", "m2"]).where("id", "=", id).execute();
    const before = await moments();
    expect(await rebuild([call])).toEqual({
      checked: 30 + 2 + 1,
      differed: 0,
      repaired: [],
      days: 2,
      pauses: 0,
    });
    expect(await moments()).toEqual(before);
  });

  it("repairs and reports exactly what differs, for each kind of damage", async () => {
    const call = await measured(60);
    const [hour, day] = [(n: number) => T0 + n * HOUR, Date.UTC(2026, 9, 1)];
    const damaged = await Promise.all([0, 1, 2, 3, 4].map((n) => row(call, "HOUR", hour(n))));
    const [counted, moved, slower, counters, gone] = damaged.map(({ id }) => id) as [
      number,
      number,
      number,
      number,
      number,
    ];
    await change(counted, { count: 9 });
    await change(moved, { mean: 1, m2: 5 });
    await change(slower, { max: 7, dns_count: 1, tcp_sum: 2 });
    await raw.kysely
      .updateTable("stat_buckets")
      .set({ count: 3 })
      .where("stat_id", "=", counters)
      .execute();
    await raw.kysely.deleteFrom("stats").where("id", "=", gone).execute();
    await change((await row(call, "DAY", day)).id, { count: 0, m3: 1e9 });
    await change((await row(call, "MONTH", day)).id, { min: -1 });
    const { key } = await row(call, "HOUR", hour(5));
    const { id: _, ...columns } = await raw.kysely
      .selectFrom("stats")
      .selectAll()
      .where((eb) => eb.and(key))
      .executeTakeFirstOrThrow();
    // Adds rows that no result supports.
    await raw.kysely
      .insertInto("stats")
      .values([hour(40), hour(5.5)].map((period) => ({ ...columns, period })))
      .execute();
    const { differed, repaired, pauses } = await rebuild([call]);
    const lines = repaired.map((line) => line.replace(/(phases\.\w+|buckets)\.\w+/g, "$1"));
    expect(lines.toSorted()).toEqual([
      expect.stringMatching(/^DAY 2026-10-01T00:00:00Z local: count m3$/),
      expect.stringMatching(/^HOUR 2026-10-01T12:00:00Z local: count$/),
      expect.stringMatching(/^HOUR 2026-10-01T13:00:00Z local: mean m2$/),
      expect.stringMatching(/^HOUR 2026-10-01T14:00:00Z local: max phases.dns phases.tcp$/),
      expect.stringMatching(/^HOUR 2026-10-01T15:00:00Z local: buckets( buckets)*$/),
      expect.stringMatching(/^HOUR 2026-10-01T16:00:00Z local: count min max .*buckets.* mean/),
      expect.stringMatching(/^HOUR 2026-10-01T17:30:00Z local: count min max /),
      expect.stringMatching(/^HOUR 2026-10-03T04:00:00Z local: count min max /),
      expect.stringMatching(/^MONTH 2026-10-01T00:00:00Z local: min$/),
    ]);
    expect([differed, pauses]).toEqual([9, 9]);
    expect((await row(call, "HOUR", hour(40))).id).toBe(0);
    await expectRight(call);
    expect(await rebuild([call])).toMatchObject({ differed: 0, repaired: [] });
  });

  it("is correct while results are recorded in the same periods", async () => {
    const call = await measured(20);
    const reports = await reportsOf(call, 40, 20);
    const [other, third] =
      kind === "sqlite" ? [store, store] : [await database.open(), await database.open()];
    const damage = async (n: number): Promise<void> => {
      for (const [period, time] of [
        ["HOUR", T0 + HOUR * (n % 20)],
        ["DAY", Date.UTC(2026, 9, 1)],
        ["MONTH", Date.UTC(2026, 9, 1)],
      ] as const)
        await change((await row(call, period, time)).id, { count: 1000 + n, m2: 1 });
    };
    const record = async (by: Store, from: number): Promise<void> => {
      for (let n = from; n < reports.length; n += 2) await by.results.record([reports[n]!]);
    };
    const repair = async (): Promise<void> => {
      for (let n = 0; n < 4; n += 1) {
        if (kind === "postgres") await damage(n);
        await rebuild([call], ALWAYS, third);
      }
    };
    await Promise.all([record(store, 0), record(other, 1), repair()]);
    await rebuild([call]);
    await expectRight(call);
  });

  it("waits for a result that is being recorded in the row that it repairs", async () => {
    const call = await measured(2);
    const [report] = await reportsOf(call, 1);
    await change((await row(call, "HOUR", T0, report!.location_id)).id, { count: 77 });
    const [recorded, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const recording = store.transaction(async (inner) => {
      await inner.results.record([report!]);
      recorded.resolve();
      await finish.promise;
    });
    await recorded.promise;
    const repairing = rebuild([call], ALWAYS, kind === "sqlite" ? store : await database.open());
    if (kind === "postgres") await expect.poll(waiting).toBe(1);
    finish.resolve();
    await Promise.all([recording, repairing]);
    expect((await repairing).repaired).toEqual([expect.stringContaining("HOUR")]);
    await expectRight(call);
  });

  it("is a command that prints the differences as JSON", async () => {
    const call = await measured(3);
    await change((await row(call, "HOUR", T0)).id, { max: 1 });
    using folder = makeFolder();
    const environment = settingsOf(database, folder.dataDir);
    const print = vi.fn<(text: string) => void>();
    await runCommand(["stats", "rebuild", "--call", call], environment, print);
    await runCommand(["stats", "rebuild", "--call", call], environment, print);
    expect(print.mock.calls.map(([text]) => JSON.parse(text) as unknown)).toEqual([
      {
        kind: "HOUR",
        time: formatPeriodTime(T0),
        call_id: call,
        location_id: "local",
        type: "COMPLETE",
        fields: { max: { stored: 1, recomputed: 137 } },
      },
    ]);
  });

  it("checks one call, and the periods within a span", async () => {
    const [call, other] = [await measured(60), await measured(3)];
    const day = Date.UTC(2026, 9, 1);
    const places = [
      ["HOUR", T0],
      ["HOUR", T0 + HOUR],
      ["DAY", day],
      ["MONTH", day],
    ] as const;
    for (const each of [call, other])
      for (const [period, time] of places)
        await change((await row(each, period, time)).id, { max: 1 });
    const kinds = async (span: Partial<TimeSpan>) =>
      (await rebuild([call], { ...ALWAYS, ...span })).repaired.map((line) => line.split(" ")[0]);
    expect(await kinds({ from: T0 + 1, to: T0 + 2 * HOUR - 1 })).toEqual([]);
    expect(await kinds({ from: T0 + HOUR, to: T0 + 2 * HOUR })).toEqual(["HOUR"]);
    expect(await kinds({ to: day + 24 * HOUR })).toEqual(["HOUR", "DAY"]);
    expect(await kinds({ from: day })).toEqual(["MONTH"]);
    expect((await rebuild([other])).repaired).toHaveLength(4);
    expect(await store.statChecks.calls()).toEqual(expect.arrayContaining([call, other]));
  });

  it("skips statistics whose results may have been removed", async () => {
    const call = await measured(60);
    const until = Date.UTC(2026, 9, 2);
    await raw.kysely
      .deleteFrom("results")
      .where("time", "<", until - HOUR)
      .execute();
    const later = await row(call, "HOUR", until + HOUR);
    await change(later.id, { count: 5 });
    const count = async () =>
      (await store.stats.period({ call_id: call, kind: "MONTH", location_id: null }, until)).get(
        "COMPLETE",
      )?.count;
    const lease = (await store.leases.acquire(RETENTION_LEASE, "test", await store.now(), 1000))!;
    await store.leases.advance(lease, until);
    const { repaired, days } = await rebuild([call]);
    expect(repaired).toEqual([expect.stringContaining("HOUR 2026-10-02")]);
    expect([days, await daysToCheck(store, ALWAYS, call)]).toEqual([1, 1]);
    expect(await count()).toBe(48);
    await store.leases.release(lease);
  });

  it("leaves no empty row where results may have been removed: a later one is counted alone", async () => {
    const call = newId(T0);
    const lease = (await store.leases.acquire(RETENTION_LEASE, "test", await store.now(), 1000))!;
    await store.leases.advance(lease, T0 + HOUR);
    const place = { call_id: call, location_id: "far", result: "COMPLETE", time: T0 } as const;
    for (const each of ["HOUR", "DAY"] as const)
      expect(await store.statChecks.repair({ ...place, kind: each })).toBeUndefined();
    expect((await row(call, "HOUR", T0, "far")).id).toBe(0);
    await store.results.record(await reportsOf(call, 1));
    const of = { call_id: call, kind: "HOUR", location_id: "far" } as const;
    const stored = (await store.stats.period(of, T0)).get("COMPLETE");
    expect(stored).toMatchObject({ count: 1, min: 100, max: 100 });
    await store.leases.release(lease);
  });
});
