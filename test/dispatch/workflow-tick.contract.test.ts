import { beforeAll, describe, expect, it } from "vitest";
import { TooLargeError } from "../../src/bus/bus.ts";
import type { Bus } from "../../src/bus/bus.ts";
import { createInProcessBus } from "../../src/bus/in-process.ts";
import { dispatch } from "../../src/dispatch/dispatch.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { buildTicks } from "../../src/dispatch/build-tick.ts";
import { createWaitingRuns } from "../../src/dispatch/waiting-runs.ts";
import { manualRun } from "../../src/api/run-now.ts";
import { workspaceKey } from "../../src/model/environment.ts";
import type { Tick } from "../../src/model/tick.ts";
import { stepIds } from "../../src/runtime/ids.ts";
import type { NewDocument, PendingRun } from "../../src/store/records.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { aCall, aRun, aWorkflow, insertKey, T0 } from "../support/runs.ts";
import { sharedStore, storeKinds } from "../support/stores.ts";

/** Rejects ticks that call large.test. */
function boundedBus(published: string[]): Bus & AsyncDisposable {
  const log = createLogger("silent");
  const bus = createInProcessBus({ clock: systemClock, log });
  return {
    ...bus,
    async publishTicks(ticks) {
      const tooLarge = ticks.filter(({ calls }) =>
        calls.some(({ domain }) => domain === "large.test"),
      );
      for (const tick of ticks) if (!tooLarge.includes(tick)) published.push(tick.result_id);
      if (tooLarge.length > 0)
        throw new TooLargeError(
          tooLarge.map(({ result_id }) => result_id),
          "too large",
        );
    },
    [Symbol.asyncDispose]: () => bus.close(),
  };
}

describe.each(storeKinds)("the tick of a workflow on %s", (kind) => {
  const { store } = sharedStore(kind, createManualClock(T0));
  beforeAll(async () => {
    for (const org of [null, "acme", "shop"]) await insertKey(store, T0, { org });
  });

  const stored = async (...documents: NewDocument[]): Promise<void> => {
    for (const document of documents) await store.documents.insert(document);
  };
  const tickOf = async (target_id: string, change: Partial<PendingRun> = {}) => {
    const run = manualRun({
      target_id,
      target_kind: "workflow",
      between_calls_delay: 5,
      location_id: "local",
      owner: "ann",
      owner_org: null,
      context: { A: 1 },
      run_delay: 0,
      now: T0,
    });
    const { ticks, unable } = await buildTicks(store, [{ ...run, ...change }]);
    return ticks[0] ?? unable[0]?.message ?? "";
  };

  it("has its calls in order, each with an id derived from the run's", async () => {
    const [one, two] = [aCall(), aCall({ url: "https://two.test/" })];
    const workflow = aWorkflow([two.id, one.id, two.id]);
    await stored(one, two, workflow);
    const tick = (await tickOf(workflow.id)) as Tick;
    expect(tick).toMatchObject({
      trigger: "MANUAL",
      context: { A: 1 },
      calls: [
        { call_id: two.id, domain: "two.test" },
        { call_id: one.id, domain: "target.test" },
        { call_id: two.id, domain: "two.test" },
      ],
      workflow: { workflow_id: workflow.id, between_calls_delay: 5 },
    });
    expect(tick.calls.map(({ result_id }) => result_id)).toEqual(
      stepIds(tick.due_time, tick.result_id, 3),
    );
    expect(new Set(tick.calls.map(({ result_id }) => result_id)).size).toBe(3);
  });

  it("identifies the run's owner by a hash that distinguishes namesakes", async () => {
    const hashOf = async (owner_org: string | null) => {
      const call = aCall({ owner_org });
      const workflow = aWorkflow([call.id], { owner_org });
      await stored(call, workflow);
      const { owner_hash, workflow: of } = (await tickOf(workflow.id, { owner_org })) as Tick;
      expect(of?.workflow_id).toBe(workflow.id);
      return owner_hash;
    };
    const one = await hashOf(null);
    expect(one).toMatch(/^[\w-]{16}$/);
    expect(await hashOf(null)).toBe(one);
    expect(await hashOf("shop")).not.toBe(one);
  });

  it("marks calls that were deleted, or are no longer shared, as unable to run", async () => {
    const shared = { owner: "bob", owner_org: "acme", org: true };
    const [own, open, foreign] = [
      aCall({ owner_org: "acme" }),
      aCall(shared),
      aCall({ ...shared, org: false }),
    ];
    const ids = [own.id, open.id, foreign.id, "gone"];
    const workflow = aWorkflow(ids, { owner_org: "acme" });
    await stored(own, open, foreign, workflow);
    const tick = (await tickOf(workflow.id, { owner_org: "acme" })) as Tick;
    expect(tick.calls.map(({ call_id }) => call_id)).toEqual(ids);
    expect(tick.calls.map(({ unable }) => unable !== undefined)).toEqual([
      false,
      false,
      true,
      true,
    ]);
    expect(tick.calls[2]?.request.url).toBe("");
  });

  it("is recorded as too large for the bus, without delaying others", async () => {
    const [call, large] = [aCall(), aCall({ url: "https://large.test/" })];
    const workflow = aWorkflow([large.id, large.id]);
    await stored(call, large, workflow);
    const published: string[] = [];
    await using bus = boundedBus(published);
    const runs = [
      aRun({ target_id: call.id }),
      aRun({ target_id: workflow.id, target_kind: "workflow" }),
    ];
    await store.pendingRuns.insert(runs);
    await dispatch({ store, bus, waiting: createWaitingRuns(64) }, runs, T0);
    const [one, two] = runs.map(({ result_id }) => result_id);
    expect(published).toEqual([one]);
    expect(await store.pendingRuns.get(two!)).toBeUndefined();
    expect(await store.workflowResults.get(two!)).toMatchObject({
      meta: {
        result: "UNABLE_TO_RUN",
        message:
          "the workflow is too large to be sent to an agent; its bodies, headers and parameters count",
      },
    });
    const page = { after: "", limit: 9 };
    expect(await store.pendingRuns.listOfTarget(call.id, page)).toHaveLength(1);
  });

  it("has the values of its own organization, whatever calls it names", async () => {
    const value = (owner_org: string | null, name: string, text: string): NewDocument => ({
      ...aCall({ owner_org }),
      kind: "variable",
      document: { workspace_variable: { name, value: text } },
      filters: { workspace: workspaceKey({ owner: "ann", org: owner_org }, "global"), name },
    });
    const url = "https://target.test/{{pin}}/{{other}}";
    const [foreign, own] = [aCall({ url }), aCall({ url, owner_org: "acme" })];
    const workflow = aWorkflow([foreign.id, own.id], { owner_org: "acme" });
    await stored(foreign, own, workflow);
    await stored(value(null, "pin", "none's"), value(null, "other", "none's"));
    await stored(value("acme", "pin", "acme's"));
    const tick = (await tickOf(workflow.id, { owner_org: "acme" })) as Tick;
    expect(tick.calls.map(({ unable }) => unable !== undefined)).toEqual([true, false]);
    expect(tick.environment).toEqual({ pin: "acme's" });
  });

  it.each([
    ["its context names", "2024", "of 2024"],
    ["a number in its context names", 2024, "of 2024"],
    ["is the default one, otherwise", true, "of all"],
  ])("has the values of the workspace that %s", async (_, WORKSPACE, expected) => {
    const owner_org = "shop";
    for (const [place, value] of Object.entries({ global: "of all", 2024: "of 2024" })) {
      const workspace = workspaceKey({ owner: "ann", org: owner_org }, place);
      const document = { workspace_variable: { name: "tier", value } };
      const filters = { workspace, name: "tier" };
      await stored({ ...aCall({ owner_org }), kind: "variable", document, filters });
    }
    const call = aCall({ url: "https://target.test/{{tier}}", owner_org });
    const workflow = aWorkflow([call.id], { owner_org });
    await stored(call, workflow);
    const tick = await tickOf(workflow.id, { owner_org, context: { WORKSPACE } });
    expect(tick).toMatchObject({ environment: { tier: expected } });
  });

  it("does not exist without calls, or without the workflow", async () => {
    const workflow = aWorkflow([]);
    await stored(workflow);
    expect(await tickOf(workflow.id)).toBe("the workflow has no calls");
    expect(await tickOf("gone")).toBe("the workflow was deleted before its run");
  });
});
