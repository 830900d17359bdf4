// Filling a store with simulated results.
import { describe, expect, it } from "vitest";
import { removeExpired } from "../../src/aggregator/retention.ts";
import { simulationOn } from "../../src/compose/simulation.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { fillStore, runsIn } from "../../src/simulation/fill-store.ts";
import type { FillOptions } from "../../src/simulation/fill-store.ts";
import { planOf, seriesOf } from "../../src/simulation/plan.ts";
import { INSIGHTS_LEASE } from "../../src/model/insight.ts";
import { advancedStatOf } from "../../src/model/stat.ts";
import { MINUTE_MS } from "../../src/model/slots.ts";
import type { Store } from "../../src/store/store.ts";
import { expectStatisticsOfRows } from "../support/ledger.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { connect, createTestDatabase, storeKinds } from "../support/stores.ts";
import type { TestDatabase } from "../support/stores.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 9, 14, 12);
const ALL = { after: "", limit: 100_000 };
const ANN = { owner: "ann", org: null };
const CALLS = 2;
const DAYS = 2;
const RUNS = CALLS * 2 * DAYS * 8;
const size = { calls: CALLS, locations: 2, frequency: 180 };
const PERIOD = size.frequency * MINUTE_MS;
const plan = planOf({ owner: "ann", owner_org: null, seed: 7, ...size });

const optionsFor = (store: Store, change: Partial<FillOptions> = {}): FillOptions => ({
  ...simulationOn(createLogger("silent")),
  store,
  plan,
  from: NOW - DAYS * DAY,
  until: NOW,
  actor: "test",
  batch: 5,
  pause: 0,
  ...change,
});

const resultsIn = async (store: Store) =>
  (await Promise.all(plan.calls.map(({ id }) => store.results.listOfCall(id, ALL)))).flat();

const pendingIn = async (store: Store) =>
  (await Promise.all(plan.calls.map(({ id }) => store.pendingRuns.listOfTarget(id, ALL)))).flat();

/** Expects each due run once, nothing pending, and statistics of exactly these runs. */
async function expectWhole(store: Store, from: number, until: number): Promise<void> {
  const results = await resultsIn(store);
  const due = [...seriesOf(plan)].flatMap(({ deploymentId }) =>
    Array.from(
      { length: (until - from) / PERIOD },
      (_, run) => `${deploymentId} ${from + run * PERIOD}`,
    ),
  );
  expect(
    results.map(({ meta }) => `${meta.deployment_id} ${Date.parse(meta.due_time)}`).toSorted(),
  ).toEqual(due.toSorted());
  expect(await pendingIn(store)).toEqual([]);
  await expectStatisticsOfRows(store, { results, pending: [] });
}

async function removeResults(database: TestDatabase, before: number): Promise<void> {
  await using kysely = connect(database).kysely;
  await kysely.deleteFrom("results").where("time", "<", before).execute();
}

/** Removes what has expired, as if every insights report had been made. */
async function removeAll(store: Store): Promise<void> {
  const lease = await store.leases.acquire(INSIGHTS_LEASE, "test", NOW, 1);
  await store.leases.advance(lease!, NOW);
  for (const stale of await store.insights.listStale(NOW, undefined, 1000))
    await store.insights.settle(stale, "keep");
  await removeExpired({
    store,
    clock: createManualClock(NOW),
    days: { details: 14, raw: 90, hours: 400, audit: 400 },
    holder: "test",
    signal: new AbortController().signal,
    onRemoved: () => undefined,
  });
}

describe.each(storeKinds)("a simulation in %s", (kind) => {
  it("has every result once, in the statistics too, however often it is repeated", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open(createManualClock(NOW));
    const options = optionsFor(store);
    let runs = 0;
    const onProgress = (more: number): void => void (runs += more);
    expect(await fillStore({ ...options, onProgress })).toBe(RUNS);
    expect([runs, runsIn(options)]).toEqual([RUNS, RUNS]);
    expect(await fillStore({ ...options, batch: 8, until: NOW - DAY })).toBe(0);

    const [from, until] = [NOW - DAY, NOW + DAY];
    expect(await fillStore(optionsFor(store, { from, until }))).toBe(RUNS / DAYS);
    await expectWhole(store, NOW - DAYS * DAY, NOW + DAY);
  });

  it("is marked, and nothing will ever run its calls", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open(createManualClock(NOW));
    await store.locations.insert({ id: "zurich", label: "", region: "", created: NOW });
    await fillStore(optionsFor(store, { from: NOW - DAY }));
    const calls = await store.documents.list("call", ANN, {}, ALL);
    expect(calls).toHaveLength(CALLS);
    for (const { document } of calls)
      expect(document).toMatchObject({
        meta: {
          name: expect.stringMatching(/^Simulated: /),
          tags: ["sonde-simulated"],
          domain: expect.stringMatching(/\.example$/),
          owner: "ann",
        },
      });
    expect(await store.locations.list()).toMatchObject([
      { id: "zurich" },
      { id: "sim-frankfurt", label: "Simulated: Frankfurt", region: "Simulated" },
      { id: "sim-virginia", label: "Simulated: Virginia", region: "Simulated" },
    ]);
    const agents = new Set((await resultsIn(store)).map(({ meta }) => meta.agent_id));
    expect(agents).toEqual(new Set(["simulation"]));
    expect(await store.documents.listKind("deployment", ALL)).toEqual([]);
    const audit = await store.audit.list({ limit: 100 });
    expect(audit.map(({ action, object_id }) => [action, object_id])).toEqual(
      plan.calls.map(({ id }) => ["create", id]),
    );
  });

  it("completes an interrupted simulation, between transactions and within one", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open(createManualClock(NOW));
    const controller = new AbortController();
    const onProgress = (): void => controller.abort(new Error("interrupted"));
    await expect(
      fillStore(optionsFor(store, { onProgress, signal: controller.signal })),
    ).rejects.toThrow("interrupted");
    const some = (await resultsIn(store)).length;
    expect(some).toBeGreaterThan(0);

    const { record } = simulationOn(createLogger("silent"));
    const failing = optionsFor(store, {
      async record(within, reports) {
        await record(within, reports);
        throw new Error("killed");
      },
    });
    await expect(fillStore(failing)).rejects.toThrow("killed");
    expect([(await resultsIn(store)).length, await pendingIn(store)]).toEqual([some, []]);

    expect(await fillStore(optionsFor(store))).toBe(RUNS - some);
    await expectWhole(store, NOW - DAYS * DAY, NOW);
  });

  it("does not recount results that retention has removed", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open(createManualClock(NOW));
    await fillStore(optionsFor(store));
    const query = { call_id: plan.calls[0]!.id, kind: "MONTH", location_id: null } as const;
    const before = await store.stats.period(query, Date.UTC(2026, 9, 1));
    await removeResults(database, NOW - DAY);
    const left = (await resultsIn(store)).length;
    expect(left).toBe(RUNS / DAYS);
    expect(await fillStore(optionsFor(store))).toBe(0);
    expect(await store.stats.period(query, Date.UTC(2026, 9, 1))).toEqual(before);
    expect(await resultsIn(store)).toHaveLength(left);
  });

  it("keeps percentiles no longer than retention does, also before its last removal", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open(createManualClock(NOW));
    const [from, until] = [NOW - 500 * DAY, NOW - 499 * DAY];
    await removeAll(store);
    await fillStore(optionsFor(store, { from, until }));
    const query = { call_id: plan.calls[0]!.id, kind: "DAY", location_id: null } as const;
    const percentile = async (): Promise<number | null | undefined> =>
      advancedStatOf(await store.stats.period(query, from), "COMPLETE")?.p50;
    expect(await percentile()).toBeGreaterThan(0);
    await removeAll(store);
    expect(await percentile()).toBeNull();
  });

  it("asks for the insights of the closed weeks and months", async () => {
    await using database = await createTestDatabase(kind);
    const store = await database.open(createManualClock(NOW));
    await fillStore(
      optionsFor(store, {
        from: NOW - 15 * DAY,
        plan: planOf({ ...plan, ...size, seed: 7, frequency: 1440 }),
      }),
    );
    const stale = await store.insights.listStale(NOW, undefined, 100);
    const WEEKS = [Date.UTC(2026, 8, 28), Date.UTC(2026, 9, 5)];
    expect(stale.map(({ start, call_id }) => `${start} ${call_id}`).toSorted()).toEqual(
      [...WEEKS, Date.UTC(2026, 8, 1)]
        .flatMap((start) => plan.calls.map(({ id }) => `${start} ${id}`))
        .toSorted(),
    );
  });
});
