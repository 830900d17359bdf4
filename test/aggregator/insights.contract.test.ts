// Insights reports: when they are computed, by which process, and what becomes of them.
import { describe, expect, it } from "vitest";
import { removeExpired } from "../../src/aggregator/retention.ts";
import { unavailable } from "../../src/model/errors.ts";
import { insightId } from "../../src/model/insight.ts";
import type { Store } from "../../src/store/store.ts";
import { aReport } from "../support/runs.ts";
import { storedText } from "../support/stored-secrets.ts";
import { connect, storeKinds } from "../support/stores.ts";
import {
  DAY,
  engineOf,
  every,
  HOUR,
  idsOf,
  insertCall,
  MINUTE,
  MONDAY,
  record,
  reportsOf,
  startInsights,
} from "./computing.ts";

const WEEK = 7 * DAY;
/** When the reports for May and for the week before `MONDAY` are due. */
const DUE = MONDAY + 10 * MINUTE;

const marks = (store: Store) =>
  store.insights.listStale(Number.MAX_SAFE_INTEGER / 2, undefined, 50);

describe.each(storeKinds)("insights in %s", (kind) => {
  it("are computed ten minutes after their period has closed, not before", async () => {
    await using insights = await startInsights(kind, DUE - 1);
    const { store, clock } = insights;
    await record(store, every(MONDAY - 30 * HOUR, 30, HOUR));
    await insights.run();
    expect(await reportsOf(store, DUE)).toEqual([]);
    await clock.advance(1);
    await insights.run();
    const reports = await reportsOf(store, DUE);
    expect(idsOf(reports)).toEqual(["WEEK 2026-05-25", "MONTH 2026-05-01"]);
    expect(reports).toEqual([
      expect.objectContaining({ made: 30, passed: 30, score: 999, rank: 1 }),
      expect.objectContaining({ made: 30, passed: 30, score: 999, rank: 1 }),
    ]);
    expect(await marks(store)).toEqual([]);
  });

  it("are computed for every call, however many there are", async () => {
    await using insights = await startInsights(kind, DUE);
    const { store } = insights;
    const calls = Array.from({ length: 22 }, (_, n) => `call-${n}`);
    for (const call of calls) await insertCall(store, call);
    await record(
      store,
      calls.map((call) => ({ due: MONDAY - HOUR, call })),
    );
    await insights.run();
    expect(insights.lines().at(-1)).toMatchObject({ msg: "insights computed", stored: 44 });
    expect(await marks(store)).toEqual([]);
  });

  it("count a result on Monday 00:00, and on the first, in the period that begins", async () => {
    await using insights = await startInsights(kind, MONDAY + WEEK + HOUR);
    const { store } = insights;
    await record(store, [{ due: MONDAY - 1 }, { due: MONDAY }, { due: MONDAY + 1 }]);
    await insights.run();
    expect((await reportsOf(store, MONDAY + WEEK)).map(({ start, made }) => [start, made])).toEqual(
      [
        [MONDAY - WEEK, 1],
        [MONDAY, 2],
        [MONDAY - 31 * DAY, 1],
      ],
    );
  });

  it("are the same when computed again, or by another engine", async () => {
    await using insights = await startInsights(kind, DUE);
    const { store, clock } = insights;
    await record(store, every(MONDAY - 30 * HOUR, 30, HOUR, { total: 33.3 }));
    await insights.run();
    const first = await reportsOf(store, DUE);
    const logged = insights.lines().length;
    await insights.run();
    expect(insights.lines()).toHaveLength(logged);
    await insights.resign();
    const other = engineOf(store, clock, "other");
    await other.run();
    for (const key of first) await store.insights.renewMark(key);
    await other.run();
    expect(await reportsOf(store, DUE)).toEqual(first);
  });

  it("are computed by one of two engines, and by the other once the first is gone", async () => {
    await using insights = await startInsights(kind, DUE);
    const { store, clock } = insights;
    await record(store, every(MONDAY - 30 * HOUR, 30, HOUR));
    const other = engineOf(store, clock, "other");
    await Promise.all([insights.run(), other.run()]);
    const stored = [insights, other].map(({ lines }) =>
      lines().flatMap((line) => (line["stored"] as number | undefined) ?? []),
    );
    expect(stored.flat()).toEqual([2]);

    const [idle, worker] = stored[0]?.length === 0 ? [insights, other] : [other, insights];
    await clock.advance(WEEK);
    await record(store, every(MONDAY, 30, HOUR));
    await worker.run();
    await clock.advance(WEEK);
    await record(store, every(MONDAY + WEEK, 30, HOUR));
    await idle.run(); // the lease has expired
    expect(idsOf(await reportsOf(store, MONDAY + 2 * WEEK))).toEqual([
      "WEEK 2026-05-25",
      "WEEK 2026-06-01",
      "WEEK 2026-06-08",
      "MONTH 2026-05-01",
    ]);
  });

  it("catch up after an outage of weeks, and on a store without any", async () => {
    await using insights = await startInsights(kind, MONDAY - 1);
    const { store, clock } = insights;
    await record(store, every(MONDAY - 4 * WEEK, 8, 4 * DAY));
    for (const stale of await marks(store)) await store.insights.settle(stale, "keep");
    await clock.setNow(MONDAY + 8 * DAY);
    await insights.run();
    const until = MONDAY + 8 * DAY;
    const expected = ["05-04", "05-11", "05-18", "05-25", "06-01"].map((day) => `WEEK 2026-${day}`);
    expect(idsOf(await reportsOf(store, until))).toEqual([...expected, "MONTH 2026-05-01"]);
    expect((await reportsOf(store, until)).map(({ made }) => made)).toEqual([2, 2, 2, 1, 1, 7]);
  });

  it("change once with a late result, in its week and its month", async () => {
    await using insights = await startInsights(kind, MONDAY + 31 * DAY);
    const { store } = insights;
    const missed = [
      { due: MONDAY - WEEK - DAY, result: "MISSED" },
      { due: MONDAY + DAY, result: "MISSED" },
    ] as const;
    const [run] = await record(
      store,
      [...every(MONDAY - 20 * DAY, 40, DAY), ...missed].toReversed(),
    );
    await insights.run();
    const until = MONDAY + 31 * DAY;
    const before = await reportsOf(store, until);

    await store.results.record([aReport(run!, { total: 500 })]);
    const marked = (await marks(store)).map(insightId);
    expect(marked).toHaveLength(2);
    await insights.run();
    const after = await reportsOf(store, until);
    const changed = after.filter((report, n) => report.made !== before[n]?.made);
    expect(changed.map(insightId).toSorted()).toEqual(marked.toSorted());
    for (const report of after)
      if (changed.includes(report)) expect(report.details.missed).toBe(0);
      else expect(before).toContainEqual(report);
    expect(await marks(store)).toEqual([]);
  });

  it("have no score if every run was missed, and are removed if none ran", async () => {
    await using insights = await startInsights(kind, DUE);
    const { store } = insights;
    const due = MONDAY - 1;
    const [run] = await record(store, [{ due, result: "MISSED" }]);
    await insights.run();
    expect(await reportsOf(store, DUE)).toEqual([
      expect.objectContaining({ made: 0, score: 0, rank: -1, pass_percent: 0 }),
      expect.objectContaining({ details: expect.objectContaining({ missed: 1 }) as unknown }),
    ]);
    await store.results.record([aReport(run!, { start: MONDAY })]);
    await insights.run();
    expect(await reportsOf(store, DUE)).toEqual([]);
  });

  it("lose no result when the clock was ahead by days, and goes back", async () => {
    await using insights = await startInsights(kind, MONDAY + 3 * DAY);
    const { store, clock } = insights;
    await record(store, every(MONDAY, 30, HOUR));
    await clock.setNow(MONDAY + WEEK + HOUR);
    await insights.run();
    expect((await reportsOf(store, MONDAY)).map(({ made }) => made)).toEqual([30]);
    const cursor = async () => (await store.leases.acquire("insights", "one", 0, 1))?.cursor;
    expect(await cursor()).toBe(MONDAY + WEEK);

    await clock.setNow(MONDAY + 3 * DAY);
    await record(store, every(MONDAY + 3 * DAY, 5, HOUR));
    await insights.run();
    expect(await cursor()).toBe(MONDAY + WEEK);
    expect((await reportsOf(store, MONDAY)).map(({ made }) => made)).toEqual([30]);
    await clock.setNow(MONDAY + WEEK + 10 * MINUTE);
    await insights.run();
    expect((await reportsOf(store, MONDAY)).map(({ made }) => made)).toEqual([35]);
    expect(await cursor()).toBe(MONDAY + WEEK);
  });

  it("are computed once while the clock jumps back and forth by an hour", async () => {
    await using insights = await startInsights(kind, DUE);
    const { store, clock } = insights;
    await record(store, every(MONDAY - 30 * HOUR, 30, HOUR));
    for (const hours of [0, -1, 1, 0, -1, 0]) {
      await clock.setNow(DUE + hours * HOUR);
      await insights.run();
    }
    const stored = insights.lines().map((line) => line["stored"]);
    expect(stored.filter((count) => count !== undefined)).toEqual([2]);
  });

  it("stay as they are where retention has removed results", async () => {
    const now = MONDAY + 42 * DAY;
    await using insights = await startInsights(kind, now);
    const { store, clock } = insights;
    await record(store, every(MONDAY, 42, DAY));
    await insights.run();
    const before = await reportsOf(store, now);
    const days = { details: 1, raw: 1, hours: 1, audit: 1 };
    const { signal } = new AbortController();
    const onRemoved = () => undefined;
    await removeExpired({ store, clock, days, holder: "one", signal, onRemoved });
    // Results from July on are needed; those with ids up to two days older are kept as well.
    expect(await store.retention.completeSince()).toBe(MONDAY + 30 * DAY);
    const late = MONDAY + 29 * DAY;
    await record(store, [{ due: late, total: 5000 }]);
    await insights.run();
    const after = await reportsOf(store, now);
    expect(after.filter(({ start }) => start !== late - DAY)).toEqual(
      before.filter(({ start }) => start !== late - DAY),
    );
    // Marks remain only for periods that are still open.
    expect((await marks(store)).filter(({ start }) => start <= late)).toEqual([]);
    expect(insights.lines().at(-1)).toMatchObject({ stored: 1, "results removed": 1 });
  });

  it("are not computed for deleted calls", async () => {
    await using insights = await startInsights(kind, DUE);
    const { store } = insights;
    await record(store, every(MONDAY - 30 * HOUR, 30, HOUR));
    await store.documents.remove("call", "call");
    await insights.run();
    expect(await reportsOf(store, DUE)).toEqual([]);
    expect(await marks(store)).toEqual([]);
  });

  it("rank the calls of one owner: equal scores share the better place", async () => {
    await using insights = await startInsights(kind, DUE);
    const { store } = insights;
    const calls = { a: "ann", b: "ann", c: "ann", few: "ann", ben: "ben", "org's": "ann" };
    for (const [id, owner] of Object.entries(calls))
      await insertCall(store, id, owner, id === "org's" ? "org" : undefined);
    const runs = (call: string, count: number, failed: number) => [
      ...every(MONDAY - 40 * HOUR, count - failed, HOUR, { call }),
      ...every(MONDAY - 10 * HOUR, failed, HOUR, { call, result: "HTTP_SERVER_ERROR" }),
    ];
    await record(store, [
      ...runs("a", 24, 1),
      ...runs("b", 24, 1),
      ...runs("c", 24, 3),
      ...runs("few", 23, 0),
      ...runs("ben", 24, 2),
      ...runs("org's", 24, 5),
    ]);
    await insights.run();
    const rankOf = async (id: string) => {
      const [week] = await reportsOf(store, DUE, id);
      return [id, week?.rank, (week?.score ?? 0) > 0];
    };
    expect(await Promise.all(Object.keys(calls).map(rankOf))).toEqual([
      ["a", 1, true],
      ["b", 1, true],
      ["c", 3, true],
      ["few", -1, false],
      ["ben", 1, true],
      ["org's", 1, true],
    ]);
  });

  it("are not held up by one that fails, which is retried after an hour", async () => {
    await using insights = await startInsights(kind, DUE);
    const { store, clock, database } = insights;
    await insertCall(store, "bad");
    await record(store, [
      ...every(MONDAY - 30 * HOUR, 30, HOUR, { call: "bad" }),
      ...every(MONDAY - 30 * HOUR, 30, HOUR),
    ]);
    await using raw = connect(database).kysely;
    const document = await storedText(database, "bad");
    const write = (text: string) =>
      raw.updateTable("documents").set({ document: text }).where("id", "=", "bad").execute();
    await write("{");
    const errors = () => insights.lines().filter(({ level }) => level === "error").length;
    await insights.run();
    expect(idsOf(await reportsOf(store, DUE))).toHaveLength(2);
    expect(await marks(store)).toHaveLength(2);
    expect(errors()).toBe(2);
    await clock.advance(59 * MINUTE);
    await insights.run();
    expect(errors()).toBe(2);
    await write(document);
    await clock.advance(MINUTE);
    await insights.run();
    expect(idsOf(await reportsOf(store, DUE, "bad"))).toHaveLength(2);
    expect(await marks(store)).toEqual([]);
  });

  it("do not wait for an hour after an outage of the database", async () => {
    await using insights = await startInsights(kind, DUE);
    const { store, clock } = insights;
    await record(store, every(MONDAY - 30 * HOUR, 30, HOUR));
    let isDown = true;
    const fail = () => Promise.reject(unavailable("no connection"));
    const stats = { ...store.stats, period: fail };
    const during = engineOf(
      { ...store, stats, ping: () => (isDown ? fail() : store.ping()) },
      clock,
    );
    await expect(during.run()).rejects.toThrow("no connection");
    expect(during.lines()).toEqual([]);
    isDown = false; // except for the statistics
    await during.run();
    expect(await during.failing()).toBe(2);
  });

  it("fail in no engine that has lost the lease: the other one retries", async () => {
    await using insights = await startInsights(kind, DUE);
    const { store, clock, database } = insights;
    await record(store, every(MONDAY - 30 * HOUR, 30, HOUR));
    await using raw = connect(database).kysely;
    const broken = raw.updateTable("documents").set({ document: "{" }).where("id", "=", "call");
    await broken.execute();
    await insights.run();
    expect(await insights.failing()).toBe(2);
    await clock.advance(3 * MINUTE); // the lease expires
    const other = engineOf(store, clock, "other");
    await other.run();
    await insights.run();
    expect([await insights.failing(), await other.failing()]).toEqual([0, 2]);
  });

  it("stop on a signal, and are computed by the next engine", async () => {
    await using insights = await startInsights(kind, DUE);
    const { store, clock } = insights;
    await record(store, every(MONDAY - 30 * HOUR, 30, HOUR));
    const stop = new AbortController();
    const running = insights.run(stop.signal);
    stop.abort();
    await expect(running).rejects.toBe(stop.signal.reason);
    expect(await reportsOf(store, DUE)).toEqual([]);
    await insights.resign();
    await engineOf(store, clock, "next").run();
    expect(await reportsOf(store, DUE)).toHaveLength(2);
  });
});
