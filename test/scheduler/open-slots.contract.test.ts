// How slots are opened: inside the database, in pages, and, after an outage, starting with the
// current slot.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Bus } from "../../src/bus/bus.ts";
import { createInProcessBus } from "../../src/bus/in-process.ts";
import { FREQUENCIES, MINUTE_MS, slotsUpTo } from "../../src/model/slots.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { createRegistry } from "../../src/runtime/metrics.ts";
import { createBeat } from "../../src/scheduler/beat.ts";
import type { Beat } from "../../src/scheduler/beat.ts";
import { scheduledRun } from "../../src/scheduler/new-schedules.ts";
import { createSchedulerMetrics } from "../../src/scheduler/metrics.ts";
import type { Opening, Schedule, StoredSchedule } from "../../src/store/records.ts";
import type { Store } from "../../src/store/store.ts";
import { expectOneRowForEachSlot, readLedger } from "../support/ledger.ts";
import { createManualClock } from "../support/manual-clock.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { aCall, aSchedule, insertKey, T0 } from "../support/runs.ts";
import { createTestDatabase, storeKinds } from "../support/stores.ts";
import type { TestDatabase } from "../support/stores.ts";
import { createWaitingRuns } from "../../src/dispatch/waiting-runs.ts";

const SECOND = 1000;
const FOR_EVER = Number.MAX_SAFE_INTEGER;
const log = createLogger("silent");
const newMetrics = () => createSchedulerMetrics(createRegistry({ version: "test" }));
const metrics = newMetrics();

const stillOpening = async ({ slots }: Store): Promise<Opening[]> => [
  ...(await slots.list({ late: false })),
  ...(await slots.list({ late: true })),
];

describe.each(storeKinds)("slots on %s", (kind) => {
  let database: TestDatabase;
  let clock: ManualClock;
  let store: Store;
  let bus: Bus;

  beforeEach(async () => {
    database = await createTestDatabase(kind);
    clock = createManualClock(T0 + SECOND);
    store = await database.open(clock);
    await insertKey(store, clock.now());
    bus = createInProcessBus({ clock, log });
  });
  afterEach(async () => {
    await bus.close();
    await database[Symbol.asyncDispose]();
  });

  const newBeat = (used: Store, { holder = "one", measured = metrics } = {}): Beat =>
    createBeat({
      store: used,
      clock,
      dispatcher: { store: used, bus, waiting: createWaitingRuns(64) },
      log,
      holder,
      metrics: measured,
    });
  const newSchedule = (change: Partial<Schedule> = {}): StoredSchedule => ({
    ...aSchedule({ target_id: aCall().id, active_from: T0 + SECOND, ...change }),
    active_until: FOR_EVER,
  });
  const pendingOf = ({ target_id }: Schedule) =>
    store.pendingRuns.listOfTarget(target_id, { after: "", limit: 2000 });

  it("yield the same runs as the model for every frequency and delay", async () => {
    const delays = [0, 59, 60, 3599, 86_400];
    const schedules = FREQUENCIES.flatMap((frequency) =>
      delays.map((run_delay) =>
        newSchedule({
          frequency,
          run_delay,
          active_from: T0 - 3 * 86_400_000,
          target_kind: frequency === 5 ? "workflow" : "call",
          between_calls_delay: frequency,
        }),
      ),
    );
    for (const schedule of schedules) await store.schedules.set(schedule);
    const slots = Array.from({ length: 30 }, (_, n) => T0 + n * 17 * MINUTE_MS);
    const openings = slots.map((slot) => ({ slot, late: false, opened: 0 }));
    await store.slots.add(openings);
    for (const opening of openings)
      for (let page; (page = await store.slots.nextPage(opening, 10));)
        await store.slots.order(page);
    for (const schedule of schedules) {
      const expected = slotsUpTo(schedule, slots.at(-1) ?? 0)
        .filter((slot) => slots.includes(slot))
        .map((slot) => scheduledRun(schedule, slot));
      expect(await pendingOf(schedule)).toEqual(expected);
    }
    expect(await stillOpening(store)).toEqual([]);
  });

  it("are read at most 100 at a time after an outage", async () => {
    const slots = Array.from({ length: 150 }, (_, n) => T0 + n * MINUTE_MS);
    const opened = T0 + 150 * MINUTE_MS;
    await store.slots.add(slots.map((slot) => ({ slot, late: true, opened })));
    const present = { slot: opened, late: false, opened };
    await store.slots.add([present]);
    expect(await store.slots.list({ late: false })).toEqual([present]);
    expect(await store.slots.countLate()).toBe(150);
    expect(await store.slots.oldest()).toBe(T0);
    const read: number[] = [];
    const list: typeof store.slots.list = async (filter) => {
      const found = await store.slots.list(filter);
      read.push(found.length);
      return found;
    };
    await newBeat({ ...store, slots: { ...store.slots, list } }).run();
    expect(Math.max(...read)).toBeLessThanOrEqual(100);
    expect(await stillOpening(store)).toEqual([]);
  });

  it("of an outage are counted by the leader alone, from when the cursor passes them", async () => {
    const [first, second] = [newMetrics(), newMetrics()];
    const lateSlots = async () =>
      (await Promise.all([first.lateSlots.get(), second.lateSlots.get()])).map(
        ({ values }) => values[0]?.value,
      );
    await store.schedules.set(newSchedule());
    let isDown = false;
    const list: typeof store.slots.list = async (filter) => {
      if (isDown) throw new Error("down");
      return store.slots.list(filter);
    };
    const one = newBeat({ ...store, slots: { ...store.slots, list } }, { measured: first });
    const two = newBeat(store, { holder: "two", measured: second });
    expect(await lateSlots()).toEqual([undefined, undefined]);
    await one.run();
    expect(await lateSlots()).toEqual([0, undefined]);
    await clock.setNow(T0 + 60 * MINUTE_MS);
    isDown = true;
    await expect(one.run()).rejects.toThrow("down");
    expect(await lateSlots()).toEqual([59, undefined]);
    await clock.advance(10 * SECOND);
    expect(await two.run()).toBe(true);
    expect(await one.run()).toBe(false);
    expect(await lateSlots()).toEqual([undefined, 0]);
    await two.resign();
    expect(await lateSlots()).toEqual([undefined, undefined]);
  });

  it("of a long outage are recorded by several beats: the next one must be on time", async () => {
    await store.schedules.set(newSchedule());
    await newBeat(store).run();
    await clock.advance(20 * MINUTE_MS);
    const slow: Store = {
      ...store,
      async now() {
        await clock.advance(SECOND / 10);
        return store.now();
      },
    };
    const beat = newBeat(slow);
    const left: number[] = [];
    do {
      await beat.run();
      left.push(await store.slots.countLate());
    } while (left.at(-1) !== 0);
    expect(left[0]).toBeGreaterThan(10);
    expect(left).toEqual(left.toSorted((a, b) => b - a));
  });

  it("split into late runs and runs to order by the time of the opening", async () => {
    const [soon, late] = [newSchedule({ frequency: 2 }), newSchedule()];
    for (const schedule of [soon, late]) await store.schedules.set(schedule);
    const opening = { slot: T0 + 2 * MINUTE_MS, opened: T0 + 2 * MINUTE_MS + 31 * SECOND };
    const idsOf = async (isLate: boolean) => {
      const ids: (string | null)[] = [];
      await store.slots.add([{ ...opening, late: isLate }]);
      for (let page; (page = await store.slots.nextPage({ ...opening, late: isLate }, 10));)
        ids.push(...(await store.slots.listRuns(page)).map(({ deployment_id }) => deployment_id));
      return ids;
    };
    expect(await idsOf(true)).toEqual([late.deployment_id]);
    expect(await idsOf(false)).toEqual([soon.deployment_id]);
  });

  it("that were due when their deployment was deleted have an outcome, also in an outage", async () => {
    const schedule = newSchedule({ run_delay: 10 });
    await newBeat(store).run();
    await store.schedules.set(schedule);
    await clock.setNow(T0 + 5 * MINUTE_MS + 5 * SECOND);
    await store.schedules.remove(schedule.deployment_id, clock.now());
    await clock.setNow(T0 + 10 * MINUTE_MS);
    await newBeat(store).run();
    const ledger = await readLedger(store, [schedule]);
    expectOneRowForEachSlot(ledger, [schedule], T0 + 4 * MINUTE_MS);
    expect(ledger.results).toHaveLength(4);
    expect(ledger.pending).toEqual([]);
  });

  it("publish the current one before recording an outage, and continue after a kill", async () => {
    const calls = [aCall(), aCall(), aCall()];
    for (const call of calls) await store.documents.insert(call);
    const schedules = calls.map(({ id }) => newSchedule({ target_id: id }));
    await newBeat(store).run();
    for (const schedule of schedules) await store.schedules.set(schedule);
    const end = T0 + 60 * MINUTE_MS + 20 * SECOND;
    await clock.setNow(end);
    const published: number[] = [];
    await bus.consumeTicks("local", async (ticks) => {
      published.push(...ticks.map(({ due_time }) => due_time));
    });

    // The process is killed in the transaction of the twentieth page of late runs.
    let late = 0;
    const killed: Store = {
      ...store,
      transaction: (work) =>
        store.transaction((inner) => {
          const { results } = inner;
          return work(
            Object.defineProperty(inner, "results", {
              value: {
                ...results,
                recordUnreported: async (runs) => {
                  const recorded = await results.recordUnreported(runs);
                  await expect.poll(() => published).toHaveLength(3);
                  late += 1;
                  if (late === 20) throw new Error("killed");
                  return recorded;
                },
              } satisfies Store["results"],
            }),
          );
        }),
    };
    await expect(newBeat(killed).run()).rejects.toThrow("killed");
    expect(published).toEqual(schedules.map(() => T0 + 60 * MINUTE_MS));
    expect(await stillOpening(store)).toHaveLength(40);

    await newBeat(store).run();
    expect(await stillOpening(store)).toEqual([]);
    const ledger = await readLedger(store, schedules);
    expectOneRowForEachSlot(ledger, schedules, T0 + 60 * MINUTE_MS);
    expect(ledger.pending).toHaveLength(3);
    const reasons = new Set(ledger.results.map(({ meta }) => meta.message?.split(":")[0]));
    expect([...reasons]).toEqual(["scheduler_down"]);
  });
});
