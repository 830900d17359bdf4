import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Bus } from "../../src/bus/bus.ts";
import { createInProcessBus } from "../../src/bus/in-process.ts";
import { manualRun } from "../../src/api/run-now.ts";
import type { Call } from "../../src/model/call.ts";
import { unavailable } from "../../src/model/errors.ts";
import { MINUTE_MS, SCHEDULER_LEASE } from "../../src/model/slots.ts";
import type { Tick } from "../../src/model/tick.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import type { Logger } from "../../src/runtime/logger.ts";
import { createRegistry } from "../../src/runtime/metrics.ts";
import { createBeat } from "../../src/scheduler/beat.ts";
import type { Beat } from "../../src/scheduler/beat.ts";
import { createSchedulerMetrics } from "../../src/scheduler/metrics.ts";
import { reconcile } from "../../src/scheduler/reconcile.ts";
import type { NewDocument, Schedule } from "../../src/store/records.ts";
import type { Store } from "../../src/store/store.ts";
import { captureLog } from "../runtime/log-lines.ts";
import { createManualClock } from "../support/manual-clock.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { aCall, aReport, aRun, aSchedule, insertKey, T0 } from "../support/runs.ts";
import { connect, createTestDatabase, storeKinds } from "../support/stores.ts";
import type { TestDatabase } from "../support/stores.ts";
import { createWaitingRuns } from "../../src/dispatch/waiting-runs.ts";

const SECOND = 1000;
const HOUR = 3_600_000;
const log = createLogger("silent");
const metrics = createSchedulerMetrics(createRegistry({ version: "test" }));
const EVERYTHING = { after: "", limit: 1000 };

describe.each(storeKinds)("the beat on %s", (kind) => {
  let database: TestDatabase;
  let clock: ManualClock;
  let store: Store;
  let bus: Bus;
  let ticks: Tick[];
  let call: NewDocument;

  // Each test has its own database, since all deployments share one lease and one cursor.
  beforeEach(async () => {
    database = await createTestDatabase(kind);
    clock = createManualClock(T0 + 1 * SECOND);
    store = await database.open(clock);
    await insertKey(store, clock.now());
    call = aCall();
    await store.documents.insert(call);
    bus = createInProcessBus({ clock, log });
    ticks = [];
    await bus.consumeTicks("local", async (batch) => void ticks.push(...batch));
  });
  afterEach(async () => {
    await bus.close();
    await database[Symbol.asyncDispose]();
  });

  const newBeat = (holder: string, over: { bus?: Bus; store?: Store; log?: Logger } = {}): Beat => {
    const used = over.store ?? store;
    const waiting = createWaitingRuns(64);
    const dispatcher = { store: used, bus: over.bus ?? bus, waiting };
    return createBeat({
      store: used,
      clock,
      dispatcher,
      log: over.log ?? log,
      holder,
      metrics,
    });
  };
  const deploy = async (change: Partial<Schedule> = {}): Promise<Schedule> => {
    const schedule = aSchedule({ target_id: call.id, active_from: clock.now() + 1, ...change });
    await store.schedules.set(schedule);
    return schedule;
  };
  /** Deploys what `aRun` runs, in no slot of these tests. */
  const deployRuns = () =>
    deploy({ deployment_id: "deployment", frequency: 1440, active_from: T0 });
  const at = async (ms: number): Promise<void> => clock.setNow(ms);
  const pending = () => store.pendingRuns.listOfTarget(call.id, EVERYTHING);
  const missed = async () =>
    (await store.results.listOfCall(call.id, EVERYTHING)).map(({ meta }) => meta);
  const dueMinutes = (runs: readonly { readonly due_time: number }[]): number[] =>
    runs.map(({ due_time }) => (due_time - T0) / MINUTE_MS);
  const published = async (count: number): Promise<number[]> => {
    await expect.poll(() => ticks.length).toBeGreaterThanOrEqual(count);
    return dueMinutes(ticks.toSorted((a, b) => a.due_time - b.due_time));
  };

  it("opens a slot twelve seconds ahead, not before, and publishes self-contained ticks", async () => {
    const beat = newBeat("one");
    await beat.run();
    const deployment = await deploy({ run_delay: 2 });
    await at(T0 + 47_999);
    await beat.run();
    expect(await pending()).toEqual([]);
    await at(T0 + 48_000);
    expect(await beat.run()).toBe(true);
    expect(await published(1)).toEqual([1 + 2 / 60]);
    expect(ticks[0]).toMatchObject({
      trigger: "SCHEDULE",
      trigger_time: T0 + MINUTE_MS,
      due_time: T0 + MINUTE_MS + 2 * SECOND,
      latest_start: T0 + MINUTE_MS + 32 * SECOND,
      deployment_id: deployment.deployment_id,
      calls: [
        {
          call_id: call.id,
          request: { method: "GET", url: "https://target.test/path" },
        },
      ],
    });
    expect(await store.pendingRuns.listUnpublished(Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
  });

  it("orders each slot once, no matter how often, early or late it beats", async () => {
    const beat = newBeat("one");
    await beat.run();
    await deploy();
    for (const second of [3, 47, 48, 48, 50, 59, 60, 61, 107, 108, 109, 139, 168, 169]) {
      await at(T0 + second * SECOND);
      await Promise.all([beat.run(), beat.run()]);
    }
    expect(dueMinutes(await pending())).toEqual([1, 2, 3]);
    expect(await published(3)).toEqual([1, 2, 3]);
  });

  it("catches up on missed beats: orders the runs that can still start, and records the others as MISSED with the reason", async () => {
    const beat = newBeat("one");
    await beat.run();
    await deploy();
    await at(T0 + 5 * MINUTE_MS + 20 * SECOND);
    await beat.run();
    expect(dueMinutes(await pending())).toEqual([5]);
    const outcomes = await missed();
    expect(
      outcomes.map(({ result, due_time }) => [result, (Date.parse(due_time) - T0) / MINUTE_MS]),
    ).toEqual([1, 2, 3, 4].map((n) => ["MISSED", n]));
    expect(outcomes[0]?.message).toMatch(/^scheduler_down: /);
  });

  it("accounts for the slots before the first beat of all", async () => {
    await deploy();
    await at(T0 + 3 * MINUTE_MS);
    await newBeat("one").run();
    expect((await missed()).map(({ due_time }) => (Date.parse(due_time) - T0) / MINUTE_MS)).toEqual(
      [1, 2],
    );
    expect(dueMinutes(await pending())).toEqual([3]);
  });

  it("opens no slots from before the first deployment, as after a first beat without the time", async () => {
    const opened = async () => (await metrics.slots.get()).values[0]?.value ?? 0;
    const beat = newBeat("one");
    await at(T0 - 24 * HOUR);
    await beat.run();
    const before = await opened();
    await at(T0 + 1 * SECOND);
    await deploy();
    for (const second of [20, 50]) {
      await at(T0 + second * SECOND);
      await beat.run();
    }
    expect((await opened()) - before).toBe(2); // that of the time, and the deployment's first
    expect(dueMinutes(await pending())).toEqual([1]);
  });

  it("orders the first slot of a deployment that starts after that slot was opened", async () => {
    const beat = newBeat("one");
    await at(T0 + 50 * SECOND);
    await beat.run();
    await deploy();
    await at(T0 + 51 * SECOND);
    await beat.run();
    await beat.run();
    expect(dueMinutes(await pending())).toEqual([1]);
    await store.results.record((await pending()).map((run) => aReport(run)));
    await beat.run();
    expect(await pending()).toEqual([]);
  });

  it.each([
    ["is no longer due then", { frequency: 1440 as const }, []],
    ["is due later", { run_delay: 55 }, [T0 + 115 * SECOND]],
    ["runs elsewhere", { location_id: "elsewhere" }, [T0 + 100 * SECOND]],
  ])(
    "follows a change that was stored after its slot was opened: the deployment %s",
    async (_, change, due) => {
      const beat = newBeat("one");
      const before = await deploy({ run_delay: 40 });
      await at(T0 + 50 * SECOND);
      await beat.run();
      expect((await pending()).map((run) => run.due_time)).toEqual([T0 + 100 * SECOND]);
      const changed = await deploy({ ...before, active_from: T0 + 59 * SECOND, ...change });
      await at(T0 + 51 * SECOND);
      await beat.run();
      await beat.run();
      const ordered = (await pending()).map((run) => [run.due_time, run.location_id]);
      expect(ordered).toEqual(due.map((time) => [time, changed.location_id]));
    },
  );

  it("leaves a run that may be on its way to an agent, whatever changed since", async () => {
    const beat = newBeat("one");
    const before = await deploy({ run_delay: 40 });
    await at(T0 + 50 * SECOND);
    await beat.run();
    const change = { active_from: T0 + 59 * SECOND, location_id: "elsewhere" };
    await deploy({ ...before, ...change });
    await at(T0 + 86 * SECOND);
    await beat.run();
    const ordered = (await pending()).map((run) => [run.due_time, run.location_id]);
    expect(ordered).toEqual([[T0 + 100 * SECOND, "local"]]);
  });

  it("asks for the time once a beat, and writes only its lease while nothing is due", async () => {
    const asked = { now: 0, transactions: 0 };
    const counted: Store = {
      ...store,
      now: () => ((asked.now += 1), store.now()),
      transaction: (work) => ((asked.transactions += 1), store.transaction(work)),
    };
    await newBeat("one").run();
    await deploy();
    await at(T0 + 48 * SECOND);
    await newBeat("one").run();
    const [beat, another] = [
      newBeat("one", { store: counted }),
      newBeat("one", { store: counted }),
    ];
    await using written = await noteWrites(database);
    for (let second = 49; second < 108; second += 1) {
      await at(T0 + second * SECOND);
      await (second % 2 === 0 ? beat : another).run();
    }
    expect(asked).toEqual({ now: 59, transactions: 0 });
    expect(await written.tables()).toEqual(["leases"]);
  });

  it("records the first slot as MISSED when the deployment was stored too late for it", async () => {
    const { log: captured, lines } = captureLog("info");
    const beat = newBeat("one", { log: captured });
    await beat.run();
    const created = T0 + 59 * SECOND;
    await at(T0 + 95 * SECOND);
    await beat.run();
    await deploy({ active_from: created + 1 });
    await beat.run();
    expect(await pending()).toEqual([]);
    expect((await missed()).map(({ message }) => message?.split(":")[0])).toEqual([
      "deployed_late",
    ]);
    expect(lines().at(-1)).toMatchObject({
      msg: "runs of new or changed deployments ordered",
      ordered: 0,
      missed: 1,
    });
  });

  it("accounts for the first slot of a deployment stored just after that slot was opened, even when the next beat is late", async () => {
    const beat = newBeat("one");
    await at(T0 + 50 * SECOND);
    await beat.run();
    await deploy();
    await at(T0 + 10 * MINUTE_MS);
    await beat.run();
    expect((await missed()).map(({ due_time }) => (Date.parse(due_time) - T0) / MINUTE_MS)).toEqual(
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
    );
    expect(dueMinutes(await pending())).toEqual([10]);
  });

  it("accounts for the last slot of a changed schedule with a long delay, even when the next beat is late", async () => {
    const trigger = T0 + 12 * HOUR;
    const deployment = await deploy({ frequency: 1440, run_delay: 86_400 });
    await deploy({
      ...deployment,
      frequency: 720,
      active_from: trigger + SECOND,
    });
    const lease = await store.leases.acquire(SCHEDULER_LEASE, "one", trigger, 1);
    await store.leases.advance(lease!, trigger + 23 * HOUR);
    await at(trigger + 26 * HOUR);
    await reconcile({ store, log, metrics }, clock.now());
    await newBeat("one").run();
    expect((await missed()).map(({ due_time }) => Date.parse(due_time))).toEqual([
      trigger + 24 * HOUR,
    ]);
  });

  it("orders each slot once with two schedulers, and the second takes over when the first is gone", async () => {
    const [one, two] = [newBeat("one"), newBeat("two")];
    await one.run();
    await deploy();
    // Often enough that the first keeps its lease.
    for (let second = 6; second <= 102; second += 6) {
      await at(T0 + second * SECOND);
      expect(await Promise.all([one.run(), two.run()])).toEqual([true, false]);
    }
    await at(T0 + 108 * SECOND);
    expect(await two.run()).toBe(false);
    await at(T0 + 112 * SECOND);
    expect(await two.run()).toBe(true);
    expect(await one.run()).toBe(false);
    expect(await published(2)).toEqual([1, 2]);
    expect(dueMinutes(await pending())).toEqual([1, 2]);
  });

  it("takes over at once when the previous scheduler resigned", async () => {
    const one = newBeat("one");
    await one.run();
    await one.resign();
    expect(await newBeat("two").run()).toBe(true);
  });

  it("fences off a scheduler that believes it still leads", async () => {
    await newBeat("one").run();
    await deploy();
    const two = newBeat("two");
    const stale: Store = {
      ...store,
      // The process pauses here for longer than its lease, between reading and using it.
      transaction: async (work) => {
        await at(T0 + 70 * SECOND);
        await two.run();
        return store.transaction(work);
      },
    };
    const one = newBeat("one", { store: stale });
    await at(T0 + 50 * SECOND);
    expect(await one.run()).toBe(false);
    expect(await published(1)).toEqual([1]);
    expect(dueMinutes(await pending())).toEqual([1]);
    expect(ticks).toHaveLength(1);
  });

  it("ends a beat in which another scheduler led", async () => {
    const [one, two] = [newBeat("one"), newBeat("two")];
    await one.run();
    let reads = 0;
    const stale: Store = {
      ...store,
      schedules: {
        ...store.schedules,
        // The process pauses here, and gets the lease again before it goes on.
        async listNew() {
          reads += 1;
          if (reads === 1) {
            await at(T0 + 70 * SECOND);
            expect(await two.run()).toBe(true);
            await two.resign();
            await deploy();
          }
          if (reads === 10) throw new Error("the beat goes on for ever");
          return store.schedules.listNew();
        },
      },
    };
    const paused = newBeat("one", { store: stale });
    await at(T0 + 50 * SECOND);
    expect(await paused.run()).toBe(true);
    await at(T0 + 110 * SECOND);
    expect(await paused.run()).toBe(true);
    expect(dueMinutes(await pending())).toEqual([2]);
  });

  it("leaves a new deployment to the scheduler that has taken over", async () => {
    const [one, two] = [newBeat("one"), newBeat("two")];
    await one.run();
    let isPaused = false;
    const stale: Store = {
      ...store,
      schedules: {
        ...store.schedules,
        // The process pauses here for longer than its lease; the other one opens another slot.
        async listNew() {
          if (isPaused) return store.schedules.listNew();
          isPaused = true;
          await at(T0 + 110 * SECOND);
          expect(await two.run()).toBe(true);
          await deploy();
          return store.schedules.listNew();
        },
      },
    };
    await at(T0 + 50 * SECOND);
    expect(await newBeat("one", { store: stale }).run()).toBe(false);
    expect(dueMinutes(await pending())).toEqual([]);
    await two.run();
    expect(dueMinutes(await pending())).toEqual([2]);
  });

  it.each([
    ["until later", 35],
    ["until just then", 60],
  ])(
    "accounts for a deployment stored while a late slot is being opened: it may start %s",
    async (_, second) => {
      await newBeat("one").run();
      const stored = T0 + 4 * MINUTE_MS - 5 * SECOND;
      let deployed = false;
      const slow: Store = {
        ...store,
        schedules: {
          ...store.schedules,
          async listNew() {
            if (!deployed) await deploy({ frequency: 2, active_from: stored + 1 });
            deployed = true;
            return store.schedules.listNew();
          },
        },
      };
      await at(T0 + 4 * MINUTE_MS + second * SECOND); // after an outage
      const beat = newBeat("one", { store: slow });
      await beat.run();
      await at(T0 + 4 * MINUTE_MS + (second + 1) * SECOND);
      await beat.run();
      expect(dueMinutes(await pending())).toEqual([4]);
    },
  );

  it("publishes the runs of a scheduler that stopped between commit and publish", async () => {
    await newBeat("one").run();
    await deploy();
    const closed = createInProcessBus({ clock, log });
    await closed.close();
    await at(T0 + 50 * SECOND);
    await newBeat("one", { bus: closed }).run();
    expect(dueMinutes(await pending())).toEqual([1]);
    expect(ticks).toEqual([]);
    await at(T0 + 61 * SECOND);
    await newBeat("two").run();
    expect(await published(1)).toEqual([1]);
  });

  it("neither repeats nor skips a slot when the clock is set back an hour", async () => {
    const beat = newBeat("one");
    await beat.run();
    await deploy();
    await at(T0 + 60 * MINUTE_MS - 5 * SECOND);
    await beat.run();
    const before = [
      ...dueMinutes(await pending()),
      ...(await missed()).map(({ due_time }) => (Date.parse(due_time) - T0) / MINUTE_MS),
    ];
    await at(T0 + 5 * SECOND);
    for (let minute = 0; minute <= 62; minute += 1) {
      await at(T0 + minute * MINUTE_MS + 50 * SECOND);
      await beat.run();
    }
    const after = [
      ...dueMinutes(await pending()),
      ...(await missed()).map(({ due_time }) => (Date.parse(due_time) - T0) / MINUTE_MS),
    ];
    expect(before.sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, n) => n + 1));
    expect(after.sort((a, b) => a - b)).toEqual(Array.from({ length: 63 }, (_, n) => n + 1));
  });

  it("publishes a run that is far ahead when its time comes, and a manual one whose orderer failed", async () => {
    const beat = newBeat("one");
    const order = {
      target_id: call.id,
      target_kind: "call" as const,
      between_calls_delay: 0,
      location_id: "local",
      owner: "ann",
      owner_org: null,
      context: {},
      now: clock.now(),
    };
    const [soon, later] = [
      manualRun({ ...order, run_delay: 0 }),
      manualRun({ ...order, run_delay: 3600 }),
    ];
    const idsOfTicks = () => ticks.map(({ result_id }) => result_id);
    await store.pendingRuns.insert([soon, later]);
    await beat.run();
    expect(ticks).toEqual([]);
    await at(T0 + 10 * SECOND);
    await beat.run();
    await expect.poll(idsOfTicks).toEqual([soon.result_id]);
    await at(later.due_time - 15 * SECOND);
    await beat.run();
    expect(idsOfTicks()).toEqual([soon.result_id]);
    await at(later.due_time - 15 * SECOND + 1);
    await beat.run();
    await expect.poll(idsOfTicks).toEqual([soon.result_id, later.result_id]);
  });

  it("ends a run whose call was deleted before it could be published", async () => {
    const beat = newBeat("one");
    await beat.run();
    await deploy();
    await store.documents.remove("call", call.id);
    await at(T0 + 50 * SECOND);
    await beat.run();
    expect(await pending()).toEqual([]);
    expect((await missed()).map(({ result, message }) => [result, message])).toEqual([
      ["UNABLE_TO_RUN", "the call was deleted before its run"],
    ]);
  });

  it("publishes the others when one run cannot be made into a tick", async () => {
    const beat = newBeat("one");
    await beat.run();
    const broken = aCall();
    await store.documents.insert({ ...broken, document: { meta: {} } });
    await deploy({ target_id: broken.id });
    await deploy();
    await at(T0 + 50 * SECOND);
    await beat.run();
    expect(await published(1)).toEqual([1]);
    expect(ticks.map(({ calls }) => calls[0]?.call_id)).toEqual([call.id]);
    const unpublished = await store.pendingRuns.listUnpublished(Number.MAX_SAFE_INTEGER, 10);
    expect(unpublished.map(({ target_id }) => target_id)).toEqual([broken.id]);
  });

  it("publishes the others once when one run's message fails", async () => {
    const sent: string[] = [];
    const failing: Bus = {
      ...bus,
      async publishTicks(group) {
        if (group.some(({ location_id }) => location_id === "broken")) throw new Error("no key");
        sent.push(...group.map(({ result_id }) => result_id));
      },
    };
    await deployRuns();
    const runs = Array.from({ length: 200 }, () => aRun({ target_id: call.id, due_time: T0 }));
    const broken = aRun({ target_id: call.id, due_time: T0, location_id: "broken" });
    await store.pendingRuns.insert([broken, ...runs]);
    await newBeat("one", { bus: failing }).run();
    expect(sent.toSorted()).toEqual(runs.map(({ result_id }) => result_id).toSorted());
    const unpublished = await store.pendingRuns.listUnpublished(Number.MAX_SAFE_INTEGER, 10);
    expect(unpublished.map(({ result_id }) => result_id)).toEqual([broken.result_id]);
  });

  // Of a transaction of an aggregator that locks the same rows in another order.
  it.runIf(kind === "postgres")("publishes runs once despite a deadlock", async () => {
    const sent: string[] = [];
    const noting: Bus = {
      ...bus,
      publishTicks: async (group) => void sent.push(...group.map(({ result_id }) => result_id)),
    };
    await deployRuns();
    const runs = Array.from({ length: 2 }, () => aRun({ target_id: call.id, due_time: T0 }));
    await store.pendingRuns.insert(runs);
    await using raw = connect(database).kysely;
    await sql`create sequence updates`.execute(raw);
    await sql`create function collide() returns trigger language plpgsql as $$ begin
      if nextval('updates') = 1 then raise 'deadlock' using errcode = '40P01'; end if;
      return null; end $$`.execute(raw);
    await sql`create trigger collide before update on pending_runs
      for each statement execute function collide()`.execute(raw);
    await newBeat("one", { bus: noting }).run();
    expect(sent.toSorted()).toEqual(runs.map(({ result_id }) => result_id).toSorted());
    expect(await store.pendingRuns.listUnpublished(Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
  });

  it("ends a run whose deployment was deleted while its slot was opened", async () => {
    const beat = newBeat("one");
    await beat.run();
    const { deployment_id } = await deploy({ run_delay: 40 });
    await at(T0 + 48 * SECOND);
    await beat.run();
    // The deletion does not see the order, which is not committed yet, and cannot withdraw it.
    await store.schedules.remove(deployment_id, clock.now());
    await at(T0 + 90 * SECOND);
    await beat.run();
    expect((await missed()).map(({ result, message }) => [result, message])).toEqual([
      ["UNABLE_TO_RUN", "the deployment was deleted before its run"],
    ]);
    expect(ticks).toEqual([]);
  });

  it("ends a run at a location that was removed", async () => {
    await store.locations.insert({ id: "tokyo", label: "", region: "", created: clock.now() });
    await store.locations.remove("tokyo", clock.now());
    await deployRuns();
    await store.pendingRuns.insert([
      aRun({ target_id: call.id, due_time: T0, location_id: "tokyo" }),
    ]);
    await newBeat("one").run();
    expect((await missed()).map(({ result, message }) => [result, message])).toEqual([
      ["UNABLE_TO_RUN", "the location was removed before its run"],
    ]);
  });

  it("publishes a run behind 1,000 that wait for their tokens", async () => {
    const beat = newBeat("one");
    const [setting, token, waiting] = [aCall(), aCall(), aCall()];
    const { request } = waiting.document as Call;
    await store.documents.insert({
      ...setting,
      kind: "auth_setting",
      document: {
        meta: { domain: "target.test" },
        access: {},
        keys: {},
        settings: {
          auth_type: "OAUTH2",
          access_token_url: "https://target.test/token",
        },
      },
    });
    await store.documents.insert({
      ...token,
      kind: "token",
      document: {
        meta: { name: "none yet", auth_id: setting.id },
        token: { grant_type: "client_credentials", expire_time: null },
        api_response: {},
      },
    });
    await store.documents.insert({
      ...waiting,
      document: {
        ...(waiting.document as Call),
        request: { ...request, auth_id: setting.id, token_id: token.id },
      },
    });
    const due_time = T0 + MINUTE_MS;
    await deployRuns();
    await store.pendingRuns.insert([
      ...Array.from({ length: 1000 }, () => aRun({ target_id: waiting.id, due_time })),
      aRun({ target_id: call.id, due_time: due_time + 1 }),
    ]);
    await at(due_time - 10 * SECOND);
    await beat.run();
    await published(1);
    expect(ticks.map(({ calls }) => calls[0]?.call_id)).toEqual([call.id]);
    // Without a token, runs are published in time to report that it is missing.
    await at(due_time + 25_000);
    await beat.run();
    await published(1001);
  });

  describe("reconciling", () => {
    let nobody: Bus;
    beforeAll(() => {
      nobody = createInProcessBus({ clock: createManualClock(T0), log });
    });
    afterAll(() => nobody.close());

    // The run is due 60 s after noon, and may start until 90 s after noon.
    it.each<[string, (readonly [second: number, state?: string])[]]>([
      ["no_agent: no agent had been seen at location 'local' for seven days", []],
      ["no_agent: no agent had been seen at location 'local' for seven days", [[-8 * 86_400]]],
      ["agent_offline: no agent was online", [[-120]]],
      ["agent_offline: no agent was online", [[65, "stopped"]]],
      ["agent_lost: an agent at location 'local' took the run", [[-120], [65]]],
      [
        "agents_draining: an agent at location 'local' was draining, and no other could",
        [[65, "draining"], [65, "refused"], [-120]],
      ],
      ["agent_lost: an agent", [[65, "draining"], [65]]],
      ["agent_lost: an agent", [[100, "draining"]]],
      [
        "agents_incompatible: the version of every agent online at location 'local' was too old",
        [[65, "refused"]],
      ],
    ])("records an expired run as MISSED: %s", async (message, heartbeats) => {
      const beat = newBeat("one", { bus: nobody });
      await beat.run();
      await deploy();
      await at(T0 + 50 * SECOND);
      await beat.run();
      for (const [n, [second, state = "online"]] of heartbeats.entries())
        await store.agents.record(
          {
            agent_id: `a${n}`,
            location_id: "local",
            version: "1",
            in_flight: 0,
            sent: 0,
            state,
          },
          { now: T0 + second * SECOND, refused: state === "refused" },
        );
      await store.agents.forgetOld(clock.now());
      const [run] = await pending();
      await at(run!.expires_at);
      await reconcile({ store, log, metrics }, clock.now());
      expect(await pending()).toHaveLength(1);
      await at(run!.expires_at + 1);
      await reconcile({ store, log, metrics }, clock.now());
      expect(await pending()).toEqual([]);
      expect((await missed()).map((meta) => meta.message)).toEqual([
        expect.stringContaining(message),
      ]);
    });

    it("does not count a run whose report arrives meanwhile", async () => {
      await store.pendingRuns.insert([aRun({ target_id: call.id })]);
      const [run] = await pending();
      await at(run!.expires_at + 1);
      const pendingRuns = {
        ...store.pendingRuns,
        listExpired: async (before: number, limit: number) => {
          const expired = await store.pendingRuns.listExpired(before, limit);
          await store.results.record(expired.map((each) => aReport(each)));
          return expired;
        },
      };
      const counted = createSchedulerMetrics(createRegistry({ version: "test" }));
      await reconcile({ store: { ...store, pendingRuns }, log, metrics: counted }, clock.now());
      expect((await missed()).map(({ result }) => result)).toEqual(["COMPLETE"]);
      expect((await counted.missed.get()).values).toEqual([]);
    });

    it("does not blame the bus for a run left unpublished by a pause of the beat; the next run is published", async () => {
      const beat = newBeat("one");
      await beat.run();
      await deploy({ run_delay: 50 });
      await at(T0 + 50 * SECOND);
      await beat.run();
      const [run] = await pending();
      await at(run!.expires_at + 1);
      await beat.reconcile();
      expect(await missed()).toEqual([]);
      await beat.run();
      expect(await published(1)).toHaveLength(1);
      await beat.reconcile();
      expect((await missed()).map(({ message }) => message)).toContainEqual(
        expect.stringMatching(/^no_agent: /),
      );
    });

    it("reports that the bus had no room, once the run can no longer start", async () => {
      const publishTicks = () => Promise.reject(unavailable("no room", { full: true }));
      const beat = newBeat("one", { bus: { ...bus, publishTicks } });
      await beat.run();
      await deploy({ frequency: 720, run_delay: 60, active_from: T0 });
      await at(T0 + 50 * SECOND);
      await beat.run();
      const [run] = await pending();
      await at(run!.latest_start);
      await beat.run();
      expect(await missed()).toEqual([]);
      await at(run!.latest_start + 1);
      await beat.run();
      expect(await pending()).toEqual([]);
      expect((await missed()).map(({ message }) => message)).toEqual([
        "bus_full: the bus had no room for the run",
      ]);
    });

    it("reports that the bus could not be reached", async () => {
      const closed = createInProcessBus({ clock, log });
      await closed.close();
      const beat = newBeat("one", { bus: closed });
      await beat.run();
      await deploy();
      await at(T0 + 50 * SECOND);
      await beat.run();
      const [run] = await pending();
      await at(run!.expires_at + 1);
      await reconcile({ store, log, metrics }, clock.now());
      expect((await missed()).map(({ message }) => message)).toEqual([
        "hub_unreachable: the bus could not be reached to publish the run",
      ]);
    });
  });
});

/** Notes which tables have rows inserted, changed or deleted from now on. */
async function noteWrites(database: TestDatabase) {
  const { kysely } = connect(database);
  const isPostgres = "url" in database.location;
  const tables = (await kysely.introspection.getTables()).filter(({ isView }) => !isView);
  await sql`create table written (name text)`.execute(kysely);
  if (isPostgres)
    await sql`create function note() returns trigger language plpgsql as
      $$ begin insert into written values (tg_argv[0]); return null; end $$`.execute(kysely);
  for (const { name } of tables)
    for (const change of ["insert", "update", "delete"]) {
      const noting = isPostgres
        ? `for each row execute function note('${name}')`
        : `begin insert into written values ('${name}'); end`;
      const trigger = `create trigger "${name} ${change}" after ${change} on "${name}" ${noting}`;
      await sql.raw(trigger).execute(kysely);
    }
  return {
    async tables(): Promise<string[]> {
      const { rows } = await sql<{ name: string }>`select distinct name from written`.execute(
        kysely,
      );
      return rows.map(({ name }) => name);
    },
    [Symbol.asyncDispose]: () => kysely.destroy(),
  };
}
