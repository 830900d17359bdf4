import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Heartbeat } from "../../src/model/heartbeat.ts";
import type { Store } from "../../src/store/store.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { T0 } from "../support/runs.ts";
import { createTestDatabase, storeKinds } from "../support/stores.ts";
import type { TestDatabase } from "../support/stores.ts";

const heartbeat: Heartbeat = {
  agent_id: "a1",
  location_id: "paris",
  version: "1.2.3",
  protocol: 2,
  capacity: 500,
  in_flight: 2,
  held: 7,
  spool: { reports: 3, bytes: 5_000_000_000 },
  sent: T0 + 0.5,
  remote_addr: "198.51.100.7",
  clock_offset_ms: -0.25,
};
const listed = {
  agent_id: "a1",
  location_id: "paris",
  version: "1.2.3",
  protocol: 2,
  condition: "online",
  condition_since: T0 + 5,
  capacity: 500,
  in_flight: 2,
  held: 7,
  spool_reports: 3,
  spool_bytes: 5_000_000_000,
  clock_offset_ms: -0.25,
  sent: T0 + 0.5,
  remote_addr: "198.51.100.7",
  created: T0 + 5,
  last_seen: T0 + 5,
  drain_ordered: false,
};

describe.each(storeKinds)("the agents in %s", (kind) => {
  let database: TestDatabase;
  let store: Store;
  beforeEach(async () => {
    database = await createTestDatabase(kind);
    store = await database.open(createManualClock(T0));
  });
  afterEach(() => database[Symbol.asyncDispose]());

  const ids = async (location = "paris") =>
    (await store.agents.list())
      .filter(({ location_id }) => location_id === location)
      .map(({ agent_id }) => agent_id);

  it("are listed with their latest heartbeat", async () => {
    await store.agents.record(heartbeat, { now: T0 + 5 });
    expect(await store.agents.list()).toEqual([listed]);
    const older = {
      agent_id: "a1",
      location_id: "paris",
      version: "1",
      in_flight: 3,
      sent: T0 + 9,
    };
    await store.agents.record(older, { now: T0 + 10 });
    expect(await store.agents.list()).toEqual([
      {
        ...listed,
        ...older,
        protocol: 1,
        capacity: null,
        held: 0,
        spool_reports: 0,
        spool_bytes: 0,
        clock_offset_ms: null,
        remote_addr: "",
        last_seen: T0 + 10,
      },
    ]);
  });

  it("show when their condition changed", async () => {
    const said = async (state: string, seconds: number, refused = false) => {
      const now = T0 + 1000 * seconds;
      await store.agents.record({ ...heartbeat, state, sent: now }, { now, refused });
      const [agent] = await store.agents.list();
      return [agent?.condition, (Number(agent?.condition_since) - T0) / 1000];
    };
    expect(await said("online", 0)).toEqual(["online", 0]);
    expect(await said("draining", 10)).toEqual(["draining", 10]);
    expect(await said("draining", 20)).toEqual(["draining", 10]);
    expect(await said("draining", 30, true)).toEqual(["incompatible", 30]);
    expect(await said("stopped", 40)).toEqual(["stopped", 40]);
    expect(await said("of a newer version", 50)).toEqual(["online", 50]);
  });

  it("do not change when a heartbeat arrives late or twice", async () => {
    const last = { ...heartbeat, state: "stopped", sent: T0 + 60_000 };
    await store.agents.record(last, { now: T0 + 60_000 });
    const before = await store.agents.list();
    expect(before).toMatchObject([{ condition: "stopped", last_seen: T0 + 60_000 }]);
    for (const sent of [T0, T0 + 59_999]) {
      await store.agents.record({ ...heartbeat, sent, in_flight: 9 }, { now: T0 + 60_001 });
      expect(await store.agents.list()).toEqual(before);
    }
    await store.agents.record(last, { now: T0 + 90_000 });
    expect(await store.agents.list()).toEqual(before);
  });

  it("are heard again after their clock was an hour ahead, or the hub's was", async () => {
    const hour = 3_600_000;
    await store.agents.record({ ...heartbeat, sent: T0 + hour }, { now: T0 });
    await store.agents.record({ ...heartbeat, sent: T0 + 300 }, { now: T0 + 301 });
    expect(await store.agents.list()).toMatchObject([{ last_seen: T0 + 301 }]);
    await store.agents.record({ ...heartbeat, sent: T0 + 2 * hour }, { now: T0 + 2 * hour });
    await store.agents.record({ ...heartbeat, sent: T0 + hour }, { now: T0 + hour });
    expect(await store.agents.list()).toMatchObject([{ last_seen: T0 + hour }]);
  });

  it("of one location never replace those of another", async () => {
    await store.agents.record(heartbeat, { now: T0 });
    await store.agents.record({ ...heartbeat, location_id: "oslo", in_flight: 9 }, { now: T0 });
    expect(await store.agents.list()).toMatchObject([
      { location_id: "oslo", agent_id: "a1", in_flight: 9 },
      { location_id: "paris", agent_id: "a1", in_flight: 2 },
    ]);
  });

  it("stay ordered to drain until ordered to resume", async () => {
    await store.agents.record(heartbeat, { now: T0 });
    expect(await store.agents.find(heartbeat)).toEqual({ drain_ordered: false });
    expect(await store.agents.orderDrain("a1", true)).toEqual(["paris"]);
    await store.agents.record({ ...heartbeat, state: "draining" }, { now: T0 + 1 });
    expect(await store.agents.find(heartbeat)).toEqual({ drain_ordered: true });
    expect(await store.agents.orderDrain("a1", false)).toEqual(["paris"]);
    expect(await store.agents.find(heartbeat)).toEqual({ drain_ordered: false });
    expect(await store.agents.orderDrain("a2", true)).toEqual([]);
    expect(await store.agents.find({ location_id: "paris", agent_id: "a2" })).toBeUndefined();
  });

  it("are at most 1000 per location; a new one replaces one that is gone", async () => {
    const now = T0 + 60_000;
    await store.agents.record({ ...heartbeat, location_id: "oslo" }, { now: T0 });
    await store.transaction(async ({ agents }) => {
      for (let n = 1; n <= 1000; n += 1) {
        const seen = n <= 2 ? T0 + n : now;
        await agents.record({ ...heartbeat, agent_id: `a${n}`, sent: seen }, { now: seen });
      }
    });
    expect(await store.agents.makeRoom("oslo", now)).toBe(true);
    expect(await store.agents.makeRoom("paris", now)).toBe(true);
    expect(await ids()).toHaveLength(999);
    expect(await store.agents.makeRoom("paris", now)).toBe(true);
    expect(await ids()).toHaveLength(999);
    expect(await ids()).not.toContain("a1");
    expect(await ids("oslo")).toEqual(["a1"]);
    await store.agents.record({ ...heartbeat, agent_id: "a1" }, { now });
    expect(await store.agents.makeRoom("paris", now)).toBe(true);
    await store.agents.record({ ...heartbeat, agent_id: "a2" }, { now });
    expect(await store.agents.makeRoom("paris", now)).toBe(false);
    expect(await ids()).toHaveLength(1000);
  });

  it("are forgotten after a week", async () => {
    await store.agents.record(heartbeat, { now: T0 });
    await store.agents.record({ ...heartbeat, agent_id: "a2" }, { now: T0 + 1 });
    await store.agents.forgetOld(T0 + 7 * 86_400_000 + 1);
    expect(await ids()).toEqual(["a2"]);
  });
});
