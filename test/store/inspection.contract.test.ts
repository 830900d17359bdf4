// Inspecting a store read-only: it finds what the ledger lacks, and changes nothing.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunReport } from "../../src/model/result.ts";
import { MINUTE_MS } from "../../src/model/slots.ts";
import { newId, scheduledRunId } from "../../src/runtime/ids.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { openInspection } from "../../src/store/inspection.ts";
import type { Inspection } from "../../src/store/inspection.ts";
import type { PendingRun } from "../../src/store/records.ts";
import { aCall, aReport, aRun, aSchedule, aWorkflowReport, T0 } from "../support/runs.ts";
import { connect, sharedStore, storeKinds } from "../support/stores.ts";

describe.each(storeKinds)("an inspection on %s", (kind) => {
  const { database, store } = sharedStore(kind);
  let inspection: Inspection;
  beforeAll(async () => {
    inspection = await openInspection({ location: database.location, clock: systemClock });
  });
  afterAll(() => inspection.close());

  /** Creates a deployment that is due each minute, with a delay. */
  async function deploy(run_delay: number, changed?: string): Promise<string> {
    const deployment_id = changed ?? newId(T0 - 3_600_000);
    const active_from = changed === undefined ? T0 : T0 + 60 * MINUTE_MS;
    await store.schedules.set(
      aSchedule({ deployment_id, location_id: "paris", run_delay, active_from }),
    );
    return deployment_id;
  }
  /** Returns the run that the beat would order. */
  const runOf = (deployment_id: string, trigger_time: number, run_delay: number): PendingRun =>
    aRun({
      result_id: scheduledRunId(trigger_time, deployment_id),
      deployment_id,
      trigger_time,
      due_time: trigger_time + run_delay * 1000,
      location_id: "paris",
    });

  it("counts the missed runs, but no simulated ones", async () => {
    const slot = T0 - 60 * MINUTE_MS;
    const runs = [runOf(newId(T0), slot, 0), runOf(newId(T0), slot, 0), runOf(newId(T0), slot, 0)];
    await store.pendingRuns.insert(runs);
    const [byHub, byAgent, simulated] = runs as [PendingRun, PendingRun, PendingRun];
    const message = "agent_offline: no agent was online";
    await store.results.recordUnreported([{ run: byHub, result: "MISSED", message }]);
    expect(await inspection.missed(slot, slot + 1)).toEqual(new Map([[message, 1]]));
    await store.results.record([
      missedBy("agent", byAgent, "started_late: …"),
      missedBy("simulation", simulated, message),
    ]);
    expect(await inspection.missed(slot, slot + 1)).toEqual(
      new Map([
        [message, 1],
        ["started_late: …", 1],
      ]),
    );
  });

  it("counts missed workflows whatever their messages quote", async () => {
    const due_time = T0 - 90 * MINUTE_MS;
    const target = { target_kind: "workflow", target_id: newId(T0), call_ids: [] } as const;
    const run = aRun({ ...target, result_id: scheduledRunId(due_time, newId(T0)), due_time });
    await store.pendingRuns.insert([run]);
    const report = aWorkflowReport(run);
    const meta = { ...report.workflow!.meta, start_time: null, end_time: null };
    const missed = { result: "MISSED", result_category: null, message: "late: \0\ud800" } as const;
    const workflow = { ...report.workflow!, meta: { ...meta, ...missed } };
    await store.results.record([{ ...report, workflow }]);
    expect(await inspection.missed(due_time, due_time + 1)).toEqual(
      new Map([["late: \ufffd\ufffd", 1]]),
    );
  });

  it("finds the runs without an outcome and those with two rows, whatever their delay", async () => {
    const [near, far, late] = [await deploy(5), await deploy(150), await deploy(7)];
    // No beat has looked at the deployments yet.
    expect(await inspection.auditSlot(T0)).toMatchObject({ due: 0, missing: 0 });
    await store.schedules.forgetNew(await store.schedules.listNew());
    const slot = T0 + 2 * MINUTE_MS;
    expect(await inspection.auditSlot(slot)).toEqual({
      due: 3,
      missing: 3,
      twice: 0,
      deployment_id: [near, far, late].toSorted()[0],
    });
    const runs = [runOf(near, slot, 5), runOf(far, T0, 150), runOf(late, slot, 7)] as const;
    await store.pendingRuns.insert(runs);
    expect(await inspection.auditSlot(slot)).toMatchObject({ due: 3, missing: 0, twice: 0 });
    expect(await inspection.pending(slot + 6000)).toEqual([
      { location_id: "paris", runs: 1, oldest_due: slot + 5000 },
    ]);

    await store.results.record([aReport(runs[0])]);
    const message = "agent_offline: no agent was online";
    await store.results.recordUnreported([{ run: runs[1], result: "MISSED", message }]);
    expect(await inspection.auditSlot(slot)).toMatchObject({ missing: 0, twice: 0 });
    expect(await inspection.missed(T0, slot + 1)).toEqual(new Map([[message, 1]]));

    await using raw = connect(database).kysely;
    const copy = await raw.selectFrom("pending_runs").selectAll().executeTakeFirstOrThrow();
    const again = { ...copy, result_id: runs[0].result_id };
    await raw.insertInto("pending_runs").values(again).execute();
    await raw.deleteFrom("results").where("id", "=", runs[1].result_id).execute();
    expect(await inspection.auditSlot(slot)).toEqual({
      due: 3,
      missing: 1,
      twice: 1,
      deployment_id: far,
    });
    expect(await inspection.countExpired(copy.expires_at + 1)).toBe(2);
    await deploy(5, near); // its previous schedule is kept for a while
    expect(await inspection.runsPerMinute()).toBe(3);
    expect(await inspection.deployments()).toEqual(new Map([["paris", 3]]));
  });

  it("sums up the last minute, and names the calls that fail", async () => {
    const now = T0 + 600 * MINUTE_MS;
    const call = aCall();
    await store.documents.insert(call);
    const due_time = now - 30_000;
    const run = () =>
      aRun({
        result_id: scheduledRunId(due_time, newId(T0)),
        target_id: call.id,
        due_time,
        location_id: "tokyo",
      });
    const runs = [run(), run(), run()] as const;
    await store.pendingRuns.insert(runs);
    const failed = { result: "CONNECTION_ERROR", total: 40, start: now - 29_980 } as const;
    await store.results.record([
      aReport(runs[0], { total: 120 }),
      aReport(runs[1], { total: 80 }),
      aReport(runs[2], failed),
    ]);
    expect(await inspection.recentRuns(now - MINUTE_MS, now)).toEqual([
      expect.objectContaining({ result: "COMPLETE", count: 2, latency: 100_000, lateness: 0 }),
      expect.objectContaining({ result: "CONNECTION_ERROR", count: 1, worst_lateness: 20 }),
    ]);
    expect(await inspection.failingCalls(now - MINUTE_MS, now, 5)).toEqual([
      {
        call_id: call.id,
        name: expect.stringMatching(/^call /),
        location_id: "tokyo",
        result: "CONNECTION_ERROR",
        message: null,
        count: 1,
      },
    ]);
  });

  it("can change nothing", async () => {
    await expect(inspection.agents.orderDrain("agent", true)).rejects.toThrow(/read-?only/);
  });
});

function missedBy(agent_id: string, run: PendingRun, message: string): RunReport {
  const { results, ...report } = aReport(run, { result: "MISSED" });
  return {
    ...report,
    agent_id,
    results: results.map((result) => ({ ...result, meta: { ...result.meta, agent_id, message } })),
  };
}
