import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Bus } from "../../src/bus/bus.ts";
import { createInProcessBus } from "../../src/bus/in-process.ts";
import { dispatch } from "../../src/dispatch/dispatch.ts";
import { createWaitingRuns } from "../../src/dispatch/waiting-runs.ts";
import { formatInstant } from "../../src/model/instant.ts";
import { MINUTE_MS } from "../../src/model/slots.ts";
import type { Tick } from "../../src/model/tick.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { createRegistry } from "../../src/runtime/metrics.ts";
import { createBeat } from "../../src/scheduler/beat.ts";
import type { Beat } from "../../src/scheduler/beat.ts";
import { createSchedulerMetrics } from "../../src/scheduler/metrics.ts";
import { reconcile } from "../../src/scheduler/reconcile.ts";
import type { Store } from "../../src/store/store.ts";
import { createManualClock } from "../support/manual-clock.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { aCall, aRun, aWorkflow, aWorkflowReport, insertKey, T0 } from "../support/runs.ts";
import { createTestDatabase, storeKinds } from "../support/stores.ts";
import type { TestDatabase } from "../support/stores.ts";

const SECOND = 1000;
const log = createLogger("silent");
const SCHEDULE = {
  deployment_id: "deployment",
  owner: "ann",
  owner_org: null,
  target_kind: "workflow",
  location_id: "local",
  frequency: 1,
  run_delay: 0,
  between_calls_delay: 10,
} as const;

describe.each(storeKinds)("a workflow every minute on %s", (kind) => {
  let database: TestDatabase;
  let clock: ManualClock;
  let store: Store;
  let bus: Bus;
  let beat: Beat;
  let ticks: Tick[];
  let workflowId: string;

  beforeEach(async () => {
    database = await createTestDatabase(kind);
    clock = createManualClock(T0 + SECOND);
    store = await database.open(clock);
    await insertKey(store, clock.now());
    const call = aCall();
    const workflow = aWorkflow([call.id, call.id]);
    workflowId = workflow.id;
    await store.documents.insert(call);
    await store.documents.insert(workflow);
    bus = createInProcessBus({ clock, log });
    ticks = [];
    await bus.consumeTicks("local", async (batch) => void ticks.push(...batch));
    beat = newBeat(store);
    await beat.run();
    await store.schedules.set({
      ...SCHEDULE,
      target_id: workflowId,
      active_from: clock.now(),
    });
  });
  afterEach(async () => {
    await bus.close();
    await database[Symbol.asyncDispose]();
  });

  const newBeat = (used: Store): Beat =>
    createBeat({
      store: used,
      clock,
      dispatcher: { store: used, bus, waiting: createWaitingRuns(64) },
      log,
      holder: "one",
      metrics: createSchedulerMetrics(createRegistry({ version: "test" })),
    });
  /** Takes seconds after noon. */
  const at = async (seconds: number, online = true): Promise<void> => {
    await clock.setNow(T0 + seconds * SECOND);
    if (online)
      await store.agents.record(
        {
          agent_id: "agent",
          location_id: "local",
          version: "1",
          in_flight: 1,
          sent: clock.now(),
        },
        { now: clock.now() },
      );
    await beat.run();
  };
  const dueMinutes = (): number[] =>
    ticks.map(({ due_time }) => (due_time - T0) / MINUTE_MS).toSorted((a, b) => a - b);
  const outcomes = async () =>
    (
      await store.workflowResults.listOfWorkflow(workflowId, {
        after: "",
        limit: 10,
      })
    ).map(({ meta }) => [
      (Date.parse(meta.due_time) - T0) / MINUTE_MS,
      meta.message?.split(":")[0] ?? meta.result,
    ]);
  /** Ends the run due in `minute`, `seconds` after noon. */
  const end = async (minute: number, seconds: number): Promise<void> => {
    const due_time = T0 + minute * MINUTE_MS;
    const tick = ticks.find((each) => each.due_time === due_time);
    const run = await store.pendingRuns.get(tick?.result_id ?? "");
    if (!run) throw new Error(`minute ${minute} is not running`);
    const { workflow, ...report } = aWorkflowReport(run);
    const end_time = formatInstant(T0 + seconds * SECOND);
    await store.results.record([
      {
        ...report,
        workflow: { ...workflow!, meta: { ...workflow!.meta, end_time } },
      },
    ]);
  };

  it("is ordered with its calls, and expires only after its longest duration", async () => {
    await at(50);
    await expect.poll(dueMinutes).toEqual([1]);
    expect(ticks[0]).toMatchObject({
      calls: [{}, {}],
      workflow: { workflow_id: workflowId, between_calls_delay: 10 },
    });
    const run = await store.pendingRuns.get(ticks[0]?.result_id ?? "");
    expect(run?.call_ids).toEqual(ticks[0]?.calls.map(({ call_id }) => call_id));
    // Two calls of at most 120 s plus three seconds each, the delay, and time for the report.
    expect(run?.expires_at).toBe((run?.latest_start ?? 0) + (2 * 123 + 10 + 60) * SECOND);
  });

  it("is missed as a whole when no outcome arrives within its longest duration", async () => {
    await at(50);
    await expect.poll(dueMinutes).toEqual([1]);
    const { expires_at = 0 } = (await store.pendingRuns.get(ticks[0]?.result_id ?? "")) ?? {};
    const metrics = createSchedulerMetrics(createRegistry({ version: "test" }));
    await clock.setNow(expires_at);
    await reconcile({ store, log, metrics }, clock.now());
    expect(await outcomes()).toEqual([]);
    await clock.setNow(expires_at + 1);
    await reconcile({ store, log, metrics }, clock.now());
    expect(await outcomes()).toEqual([[1, "agent_offline"]]);
  });

  it("runs in each slot that it is ready for", async () => {
    await at(50);
    await expect.poll(dueMinutes).toEqual([1]);
    await end(1, 90);
    await at(110);
    await expect.poll(dueMinutes).toEqual([1, 2]);
    await end(2, 150);
    await at(180);
    await expect.poll(dueMinutes).toEqual([1, 2, 3]);
    expect(await outcomes()).toEqual([
      [1, "COMPLETE"],
      [2, "COMPLETE"],
    ]);
  });

  it("misses the slots at which it is still running, and resumes afterwards", async () => {
    await at(50);
    await expect.poll(dueMinutes).toEqual([1]);
    for (const seconds of [110, 120, 125, 126, 170, 180, 186, 230]) await at(seconds);
    expect(dueMinutes()).toEqual([1]);
    expect(await outcomes()).toEqual([
      [2, "still_running"],
      [3, "still_running"],
    ]);
    const [missed] = await store.workflowResults.listOfWorkflow(workflowId, {
      after: "",
      limit: 1,
    });
    // Nobody knows: its tick may have been lost.
    expect(missed?.meta.message).toContain("had not ended, or was lost, when");
    await end(1, 235);
    await at(236);
    await expect.poll(dueMinutes).toEqual([1, 4]);
  });

  it("misses a slot that is due with the previous one, whose delay was longer", async () => {
    const cadence = async (run_delay: number, active_from: number) =>
      store.schedules.set({ ...SCHEDULE, target_id: workflowId, run_delay, active_from });
    await cadence(60, T0 + 2 * SECOND);
    await at(50);
    await cadence(0, T0 + 66 * SECOND);
    for (const seconds of [110, 121, 124, 126]) await at(seconds);
    expect(dueMinutes()).toEqual([2]);
    expect(await outcomes()).toEqual([[2, "still_running"]]);
    await end(2, 150);
    await at(180);
    await expect.poll(dueMinutes).toEqual([2, 3]);
  });

  it("runs late when the previous run had ended and only its report was late", async () => {
    await at(50);
    await expect.poll(dueMinutes).toEqual([1]);
    await at(110);
    await at(122);
    expect(dueMinutes()).toEqual([1]);
    await end(1, 119);
    await at(123);
    await expect.poll(dueMinutes).toEqual([1, 2]);
  });

  it("runs whatever another location reports about its deployment", async () => {
    const call = aCall();
    await store.documents.insert(call);
    const workflow = aWorkflow([call.id]);
    await store.documents.insert(workflow);
    const elsewhere = { location_id: "elsewhere", deployment_id: "another" };
    const target = { target_kind: "workflow", target_id: workflow.id } as const;
    const plan = { ...aRun({ ...target, ...elsewhere }), call_ids: [call.id] };
    await store.pendingRuns.insert([plan]);
    await store.pendingRuns.plan([plan]);
    const forged = aWorkflowReport({ ...plan, deployment_id: "deployment" });
    const ends = { start_time: "2099-01-01T00:00:00Z", end_time: "2099-01-01T00:00:01Z" };
    Object.assign(forged.workflow!.meta, ends);
    await at(50);
    await expect.poll(dueMinutes).toEqual([1]);
    await at(110);
    await store.results.record([forged]);
    await end(1, 119);
    await at(122);
    await expect.poll(dueMinutes).toEqual([1, 2]);
  });

  it("misses a slot that its previous run overlapped, though that ended soon after", async () => {
    await at(50);
    await expect.poll(dueMinutes).toEqual([1]);
    for (const seconds of [110, 126, 170]) await at(seconds);
    await at(180);
    await end(1, 182);
    await at(183);
    expect(dueMinutes()).toEqual([1]);
    expect(await outcomes()).toEqual([
      [1, "COMPLETE"],
      [2, "still_running"],
      [3, "still_running"],
    ]);
  });

  it("does not hold up other runs when its previous run cannot be read", async () => {
    await at(50);
    await expect.poll(dueMinutes).toEqual([1]);
    await at(110);
    await end(1, 119);
    const other = aCall();
    await store.documents.insert(other);
    await store.pendingRuns.insert([aRun({ target_id: other.id, due_time: T0 + 123 * SECOND })]);
    const workflowResults = {
      ...store.workflowResults,
      latestOfDeployment: () => Promise.reject(new Error("damaged")),
    };
    beat = newBeat({ ...store, workflowResults });
    await at(122);
    await expect.poll(dueMinutes).toEqual([1, 2.05]);
    beat = newBeat(store);
    await at(123);
    await expect.poll(dueMinutes).toEqual([1, 2, 2.05]);
  });

  it("is not reported as running where no agent is online", async () => {
    await at(50, false);
    await expect.poll(dueMinutes).toEqual([1]);
    await at(110, false);
    await at(126, false);
    expect(await outcomes()).toEqual([[2, "no_agent"]]);
  });

  it("keeps its plan when it is published again after a change", async () => {
    await at(50);
    await expect.poll(dueMinutes).toEqual([1]);
    const calls = ticks[0]?.calls;
    const other = aWorkflow([], { id: workflowId });
    await store.documents.replace(other);
    await store.pendingRuns.markAllUnpublished();
    await clock.advance(3 * SECOND);
    const again = createInProcessBus({ clock, log });
    const repeated: Tick[] = [];
    await again.consumeTicks("local", async (batch) => void repeated.push(...batch));
    const runs = await store.pendingRuns.listUnpublished(clock.now() + 1e6, 9);
    await dispatch({ store, bus: again, waiting: createWaitingRuns(64) }, runs, clock.now());
    await expect.poll(() => repeated).toHaveLength(1);
    expect(repeated[0]?.calls).toEqual(calls);
    await again.close();
  });
});
