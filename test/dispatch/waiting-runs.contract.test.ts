// How much of one owner's runs may wait for agents.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createInProcessBus } from "../../src/bus/in-process.ts";
import { TooLargeError } from "../../src/bus/bus.ts";
import type { Bus } from "../../src/bus/bus.ts";
import { dispatch } from "../../src/dispatch/dispatch.ts";
import { createWaitingRuns } from "../../src/dispatch/waiting-runs.ts";
import type { WaitingRuns } from "../../src/dispatch/waiting-runs.ts";
import { workspaceKey } from "../../src/model/environment.ts";
import type { Call } from "../../src/model/call.ts";
import type { Tick } from "../../src/model/tick.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import type { PendingRun } from "../../src/store/records.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { aCall, aRun, aWorkflow, insertKey, T0 } from "../support/runs.ts";
import { sharedStore, storeKinds } from "../support/stores.ts";

const KIB = 1024;

describe.each(storeKinds)("runs that wait, dispatched from %s,", (kind) => {
  const { store } = sharedStore(kind, createManualClock(T0));
  let bus: Bus;
  let waiting: WaitingRuns;
  let published: string[] = [];
  beforeAll(async () => {
    bus = {
      ...createInProcessBus({ clock: systemClock, log: createLogger("silent") }),
      publishTicks: async (ticks) => void published.push(...ticks.map((tick) => tick.result_id)),
    };
    for (const owner of ["ann", "bob"])
      await insertKey(store, T0, { owner, org: null, access_level: "VIEWER" });
  });
  beforeEach(() => {
    waiting = createWaitingRuns(1);
    published = [];
  });
  afterAll(() => bus.close());

  async function insertCall(bytes: number, owner = "ann", end = ""): Promise<string> {
    const call = aCall({ owner });
    const document = call.document as Call;
    const request = { ...document.request, body: `${"x".repeat(bytes)}${end}` };
    await store.documents.insert({ ...call, document: { ...document, request } });
    return call.id;
  }
  async function runsOf(count: number, change: Partial<PendingRun>): Promise<PendingRun[]> {
    const runs = Array.from({ length: count }, () => aRun(change));
    await store.pendingRuns.insert(runs);
    return runs;
  }
  const send = (runs: readonly PendingRun[], now = T0) =>
    dispatch({ store, bus, waiting }, runs, now);
  const idsOf = (runs: readonly PendingRun[]) => runs.map(({ result_id }) => result_id);

  it("are sent until their owner has a mebibyte waiting, over several pages too, and again later", async () => {
    const runs = await runsOf(6, { target_id: await insertCall(300 * KIB) });
    const others = await runsOf(1, { target_id: await insertCall(300 * KIB, "bob"), owner: "bob" });
    await send(runs.slice(0, 2));
    await send([...runs.slice(2), ...others]);
    const sent = [...runs.slice(0, 3), ...others];
    expect(published.toSorted()).toEqual(idsOf(sent).toSorted());
    for (const { result_id } of runs.slice(3)) {
      expect((await store.results.get(result_id))?.meta).toMatchObject({
        result: "UNABLE_TO_RUN",
        message:
          "the owner's runs that wait for an agent exceed 1 MiB (SONDE_MAX_WAITING_MIB), not counting the first 4 KiB of each call: shorten the calls, or spread their runs",
      });
      expect(await store.pendingRuns.get(result_id)).toBeUndefined();
    }
    // A run that could not be published comes again, and counts once.
    await send(runs.slice(0, 1));
    expect(published).toHaveLength(5);
    const due_time = T0 + 60_000;
    const next = await runsOf(3, { target_id: await insertCall(300 * KIB), due_time });
    await send(next, due_time - 1);
    expect(published.slice(5).toSorted()).toEqual(idsOf(next).toSorted());
  });

  it("do not count if no agent gets them", async () => {
    const refused = await runsOf(3, { target_id: await insertCall(300 * KIB, "bob") });
    await send(refused);
    for (const { result_id } of refused)
      expect((await store.results.get(result_id))?.meta).toMatchObject({
        result: "UNABLE_TO_RUN",
        message: "the deployment's owner may no longer run the call",
      });
    const runs = await runsOf(3, { target_id: await insertCall(300 * KIB) });
    await send(runs);
    expect(published.toSorted()).toEqual(idsOf(runs).toSorted());
  });

  it("do not count if they are too large for the bus", async () => {
    const publishTicks = async (ticks: readonly Tick[]): Promise<void> => {
      throw new TooLargeError(
        ticks.map(({ result_id }) => result_id),
        "too large",
      );
    };
    const refused = await runsOf(3, { target_id: await insertCall(300 * KIB) });
    await dispatch({ store, bus: { ...bus, publishTicks }, waiting }, refused, T0);
    const runs = await runsOf(3, { target_id: await insertCall(300 * KIB) });
    await send(runs);
    expect(published.toSorted()).toEqual(idsOf(runs).toSorted());
  });

  it("count by all calls of a workflow, each time it makes them", async () => {
    const call = await insertCall(16 * KIB);
    const workflow = aWorkflow(Array.from({ length: 40 }, () => call));
    await store.documents.insert(workflow);
    const target = { target_id: workflow.id, target_kind: "workflow" } as const;
    const runs = await runsOf(3, target);
    await send(runs);
    expect(published.toSorted()).toEqual(idsOf(runs.slice(0, 2)).toSorted());
    const refused = await store.workflowResults.get(runs[2]?.result_id ?? "");
    expect(refused?.meta.result).toBe("UNABLE_TO_RUN");
  });

  it("count by the environment values that their calls refer to", async () => {
    const workspace = workspaceKey({ owner: "ann", org: null }, "global");
    for (const name of ["a", "b"]) {
      const document = { workspace_variable: { name, value: "v".repeat(60_000) } };
      const filters = { workspace, name };
      await store.documents.insert({ ...aCall(), kind: "variable", document, filters });
    }
    const runs = await runsOf(12, { target_id: await insertCall(1, "ann", "{{a}}{{b}}") });
    await send(runs);
    expect(published).toHaveLength(9);
  });

  it("count by the credentials of all their calls, without the first 4 KiB of each call's", async () => {
    const settingOf = async (bytes: number): Promise<string> => {
      const setting = aCall();
      const document = {
        meta: { domain: "target.test" },
        access: {},
        keys: { client_id: "me", client_secret: "hush" },
        settings: { auth_type: "BASIC", custom_variables: {}, note: "s".repeat(bytes) },
      };
      await store.documents.insert({ ...setting, kind: "auth_setting", document });
      return setting.id;
    };
    const calling = async (count: number, bytes: number): Promise<Partial<PendingRun>> => {
      const auth_id = await settingOf(bytes);
      const call = aCall();
      const document = call.document as Call;
      const request = { ...document.request, auth_id };
      await store.documents.insert({ ...call, document: { ...document, request } });
      const workflow = aWorkflow(Array.from({ length: count }, () => call.id));
      await store.documents.insert(workflow);
      return { target_id: workflow.id, target_kind: "workflow" };
    };
    const small = await runsOf(50, await calling(10, 3 * KIB));
    const large = await runsOf(5, await calling(10, 44 * KIB));
    await send([...small, ...large]);
    const sent = [...small, ...large.slice(0, 2)];
    expect(published.toSorted()).toEqual(idsOf(sent).toSorted());
    const refused = await store.workflowResults.get(large[4]?.result_id ?? "");
    expect(refused?.meta).toMatchObject({ result: "UNABLE_TO_RUN", message: waiting.refusal });
  });

  it("do not count while they are small, however many", async () => {
    const runs = await runsOf(400, { target_id: await insertCall(3 * KIB) });
    await send(runs);
    expect(published).toHaveLength(400);
  });
});
