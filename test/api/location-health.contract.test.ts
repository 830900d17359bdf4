// The health of locations, on both databases.
import { describe, expect, it } from "vitest";
import { createLocationHealth } from "../../src/api/location-health.ts";
import { ACCESS_LEVELS } from "../../src/model/access.ts";
import type { AccessLevel } from "../../src/model/access.ts";
import { derivedId } from "../../src/runtime/ids.ts";
import type { Store } from "../../src/store/store.ts";
import { startApi } from "../support/api.ts";
import type { Caller, List, TestApi } from "../support/api.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { aReport, aRun, T0 } from "../support/runs.ts";
import { createTestDatabase, storeKinds } from "../support/stores.ts";

interface Health {
  readonly id: string;
  readonly label: string;
  readonly pending_runs: number;
  readonly oldest_due: string | null;
  readonly spool_reports: number;
  readonly recent_calls: number;
  readonly lateness: unknown;
  readonly uncertainty: unknown;
  readonly agents: readonly { readonly agent_id: string; readonly state: string }[];
}

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const NOTHING = {
  pending_runs: 0,
  oldest_due: null,
  recent_calls: 0,
  lateness: null,
  uncertainty: null,
};

const healthOf = async (
  { send, ann }: TestApi,
  query = "",
  as: Caller = ann,
): Promise<List<Health>> =>
  (await send<List<Health>>({ path: `/agents/health/${query}`, as })).body;

describe.each(storeKinds)("the health of locations on %s", (storeKind) => {
  it("shows waiting runs, and the lateness and uncertainty of the last hour's calls", async () => {
    await using api = await startApi({ storeKind });
    const { store } = api;
    const now = await store.now();
    const call = (due_time: number, late: number, uncertainty: number) => {
      const result_id = derivedId(due_time, "a run");
      const run = aRun({ result_id, location_id: "far", due_time });
      return { run, report: aReport(run, { start: due_time + late, timing: { uncertainty } }) };
    };
    const calls = [
      ...Array.from({ length: 100 }, (_, n) => call(now - n * SECOND, n + 1, (n + 1) / 10)),
      call(now - HOUR - SECOND, 10_000, 10_000),
    ];
    const missed = aRun({ location_id: "far", due_time: now - 60 * SECOND });
    await store.pendingRuns.insert([missed, ...calls.map(({ run }) => run)]);
    await store.results.record(calls.map(({ report }) => report));
    await store.results.recordUnreported([{ run: missed, result: "MISSED", message: "no_agent" }]);
    const waiting = [
      aRun({ location_id: "far", due_time: now + SECOND }),
      aRun({ location_id: "far", due_time: now }),
    ];
    await store.pendingRuns.insert(waiting);
    const heartbeat = {
      agent_id: "agent",
      location_id: "far",
      version: "1.2.3",
      in_flight: 0,
      sent: now,
    };
    const seen = { now: await store.now() };
    await store.agents.record({ ...heartbeat, spool: { reports: 7, bytes: 70 } }, seen);

    const { meta, results } = await healthOf(api);
    expect(meta).toEqual({ more: false, next_cursor: "" });
    expect(results).toMatchObject([
      { id: "local", label: "The local one", agents: [], spool_reports: 0, ...NOTHING },
      {
        id: "far",
        agents: [{ agent_id: "agent", state: "ONLINE", version: "1.2.3" }],
        spool_reports: 7,
        pending_runs: 2,
        oldest_due: new Date(now).toISOString().replace("Z", "000Z"),
        recent_calls: 100,
        lateness: { p50: 50, p95: 95, p99: 99 },
        uncertainty: { p50: 5, p95: 9.5, p99: 9.9 },
      },
    ]);
    const first = await healthOf(api, "?limit=1");
    expect([first.results[0]?.id, first.meta.more]).toEqual(["local", true]);
  });

  it("counts only the reader's waiting runs, but everyone's calls", async () => {
    await using api = await startApi({ storeKind });
    const { store } = api;
    const due_time = (await store.now()) - SECOND;
    const done = aRun({ result_id: derivedId(due_time, "a run"), location_id: "far", due_time });
    const waiting = [null, "org"].map((owner_org) =>
      aRun({ location_id: "far", owner_org, due_time }),
    );
    await store.pendingRuns.insert([done, ...waiting]);
    await store.results.record([aReport(done)]);
    const seenBy = async (owner: string, org: string | null, level: AccessLevel) => {
      const as = await api.caller(owner, org, level);
      const far = (await healthOf(api, "", as)).results.find(({ id }) => id === "far");
      return [far?.pending_runs, far?.oldest_due === null, far?.recent_calls];
    };
    for (const level of ACCESS_LEVELS) {
      for (const org of [null, "org"])
        expect(await seenBy("ann", org, level)).toEqual([1, false, 1]);
      for (const [owner, org] of [
        ["bob", "org"],
        ["ann", "another"],
        ["eve", null],
      ] as const)
        expect(await seenBy(owner, org, level)).toEqual([0, true, 1]);
    }
  });

  it("is measured once for all callers within five seconds", async () => {
    const clock = createManualClock(T0);
    await using api = await startApi({ storeKind, clock });
    const far = async () => (await healthOf(api)).results[1];
    expect(await far()).toMatchObject(NOTHING);
    await api.store.pendingRuns.insert([aRun({ location_id: "far" })]);
    await clock.advance(4999);
    expect(await far()).toMatchObject(NOTHING);
    await clock.advance(1);
    expect(await far()).toMatchObject({ pending_runs: 1 });
  });

  it("is measured once for concurrent callers, and again if that fails", async () => {
    await using database = await createTestDatabase(storeKind);
    const clock = createManualClock(T0);
    const store = await database.open(clock);
    let asked = 0;
    const counted: Store = {
      ...store,
      async now() {
        asked += 1;
        if (asked === 1) throw new Error("the connection is lost");
        return store.now();
      },
    };
    const measure = createLocationHealth({ store: counted, clock });
    const together = () => Promise.allSettled([measure(), measure(), measure()]);
    const statesOf = async () => (await together()).map(({ status }) => status);
    expect([await statesOf(), asked]).toEqual([Array(3).fill("rejected"), 1]);
    expect([await statesOf(), asked]).toEqual([Array(3).fill("fulfilled"), 2]);
  });
});
