import { describe, expect, it, vi } from "vitest";
import { periodEnd, periodStart } from "../../src/model/periods.ts";
import { createTestDatabase, storeKinds } from "../support/stores.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { aReport, aRun } from "../support/runs.ts";
import type { Outcome } from "../support/runs.ts";
import type { Store } from "../../src/store/store.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** A Monday. */
const WEEK = Date.UTC(2026, 8, 21);
const MONTH = Date.UTC(2026, 8, 1);
const NOW = Date.UTC(2026, 9, 8, 12);

const record = async (
  store: Store,
  outcomes: readonly (Outcome & { readonly start: number; readonly target_id?: string })[],
) => {
  const runs = outcomes.map(({ start, target_id = "call" }) =>
    aRun({ due_time: start, target_id }),
  );
  await store.pendingRuns.insert(runs);
  await store.results.record(runs.map((run, n) => aReport(run, outcomes[n])));
};

describe.each(storeKinds)("the insight store in %s", (kind) => {
  it("marks the closed periods that results change, once", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open(createManualClock(NOW));
    await record(store, [{ start: WEEK - 60 * DAY }, { start: WEEK }]);
    const marked = await store.insights.listStale(NOW, undefined, 10);
    expect(marked.map(({ kind: period, start }) => [period, start])).toEqual([
      ["MONTH", Date.UTC(2026, 6, 1)],
      ["WEEK", Date.UTC(2026, 6, 20)],
      ["MONTH", MONTH],
      ["WEEK", WEEK],
    ]);
    expect(await store.insights.listStale(NOW, marked[1], 1)).toEqual(marked.slice(2, 3));
    for (const stale of marked) expect(await store.insights.settle(stale, "keep")).toBe(true);
    expect(await store.insights.listStale(NOW, undefined, 10)).toEqual([]);
  });

  it("marks all calls that ran in a period, page by page", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open(createManualClock(NOW));
    const calls = ["a", "b", "c"];
    await record(store, [
      ...calls.map((target_id) => ({ start: NOW, target_id })),
      { start: NOW + DAY, target_id: "d" },
      { start: NOW + 7 * DAY, target_id: "e" },
    ]);
    const period = { kind: "WEEK", start: periodStart("WEEK", NOW) } as const;
    let place = await store.insights.mark(period, undefined, 2);
    for (; place; place = await store.insights.mark(period, place, 2));
    const marked = await store.insights.listStale(periodEnd("WEEK", NOW), undefined, 10);
    expect(marked.map(({ call_id, start }) => [call_id, start])).toEqual(
      [...calls, "d"].map((call) => [call, period.start]),
    );
    expect(await store.insights.callsIn(period)).toEqual([...calls, "d"]);
    expect(await store.insights.callsIn(period, "e")).toEqual([]);
    await store.insights.mark(period, undefined, 10);
    expect(await store.insights.listStale(periodEnd("WEEK", NOW), undefined, 10)).toEqual(marked);
  });

  it("needs results since the oldest period that is open or awaits its report", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open(createManualClock(NOW));
    expect(await store.insights.neededSince()).toBeLessThanOrEqual(0);
    const lease = await store.leases.acquire("insights", "me", NOW, 60_000);
    await store.leases.advance(lease!, Date.UTC(2026, 9, 5));
    expect(await store.insights.neededSince()).toBe(Date.UTC(2026, 9, 1));
    await record(store, [{ start: WEEK - 60 * DAY }]);
    expect(await store.insights.neededSince()).toBe(Date.UTC(2026, 6, 1));
  });

  it("keeps a mark that was renewed while its report was computed", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open(createManualClock(NOW));
    await record(store, [{ start: WEEK }]);
    const [month, week] = await store.insights.listStale(NOW, undefined, 10);
    await record(store, [{ start: WEEK + DAY }]);
    expect(await store.insights.settle(week!, "remove")).toBe(false);
    expect(await store.insights.settle(month!, "remove")).toBe(false);
    expect(await store.insights.listStale(NOW, undefined, 10)).toHaveLength(2);
  });

  it("does not settle a mark that was settled and recreated", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open();
    await record(store, [{ start: WEEK }]);
    const [, mark] = await store.insights.listStale(NOW, undefined, 10);
    expect(await store.insights.settle(mark!, "keep")).toBe(true);
    const settled = Date.now();
    await vi.waitUntil(() => Date.now() > settled, { interval: 1 });
    const again = await store.insights.renewMark(mark!);
    expect(await store.insights.settle(mark!, "keep")).toBe(false);
    expect(await store.insights.settle(again, "keep")).toBe(true);
  });

  it("counts latencies, and finds the outliers that are certain", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open(createManualClock(NOW));
    const uncertain = { uncertainty: 30 };
    await record(store, [
      { start: WEEK, total: 19.5 },
      { start: WEEK + HOUR, total: 20.4 },
      { start: WEEK + HOUR, total: 90, timing: uncertain },
      { start: WEEK + 2 * HOUR, total: 80 },
      { start: WEEK + 3 * HOUR, result: "CONNECTION_ERROR", total: 70 },
      { start: WEEK + 7 * DAY, total: 33 },
    ]);
    const range = { call_id: "call", from: WEEK, to: WEEK + 7 * DAY };
    const counted = await store.insights.latencies(range);
    expect(new Set(counted)).toEqual(
      new Set([
        { location_id: "local", result: "COMPLETE", latency: 20, count: 2, uncertain: 0 },
        { location_id: "local", result: "COMPLETE", latency: 90, count: 1, uncertain: 1 },
        { location_id: "local", result: "COMPLETE", latency: 80, count: 1, uncertain: 0 },
        { location_id: "local", result: "CONNECTION_ERROR", latency: 0, count: 1, uncertain: 0 },
      ]),
    );
    const fences = [{ location_id: "local", outlier_from: 20 }];
    const found = await store.insights.outliers(range, fences, 2);
    expect(found.map(({ latency, time }) => [latency, time])).toEqual([
      [80, WEEK + 2 * HOUR],
      [20, WEEK + HOUR],
    ]);
    const hours = await store.insights.hours(range);
    expect(hours.map(({ result, count }) => [result, count])).toEqual([
      ["COMPLETE", 1],
      ["COMPLETE", 2],
      ["COMPLETE", 1],
      ["CONNECTION_ERROR", 1],
    ]);
  });
});
