// What ends a run between its order and its dispatch: withdrawn sharing, and revoked keys.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createInProcessBus } from "../../src/bus/in-process.ts";
import type { Bus } from "../../src/bus/bus.ts";
import { dispatch } from "../../src/dispatch/dispatch.ts";
import { createWaitingRuns } from "../../src/dispatch/waiting-runs.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import type { NewDocument, PendingRun } from "../../src/store/records.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { aCall, aRun, aWorkflow, insertKey, T0 } from "../support/runs.ts";
import { sharedStore, storeKinds } from "../support/stores.ts";

const ANN = { owner: "ann", owner_org: "acme" };
const BOB = { owner: "bob", owner_org: "acme" };
const GONE = { owner: "gone", owner_org: "acme" };
const NAMESAKE = { owner: "ann", owner_org: null };

describe.each(storeKinds)("a run dispatched from %s", (kind) => {
  const { store } = sharedStore(kind, createManualClock(T0));
  let bus: Bus;
  const published: string[] = [];
  beforeAll(async () => {
    bus = {
      ...createInProcessBus({ clock: systemClock, log: createLogger("silent") }),
      publishTicks: async (ticks) => void published.push(...ticks.map((tick) => tick.result_id)),
    };
    for (const [owner, org] of [
      ["ann", "acme"],
      ["bob", "acme"],
      ["gone", "globex"],
      ["ann", null],
    ] as const)
      await insertKey(store, T0, { owner, org, access_level: "VIEWER" });
    const former = await insertKey(store, T0, { owner: "gone", org: "acme" });
    await store.apiKeys.revoke(former.key_id, null, T0);
  });
  afterAll(() => bus.close());

  const shared = { ...ANN, org: true };
  it.each<[string, Partial<NewDocument>, Partial<PendingRun>, string | null]>([
    ["of its owner", ANN, ANN, null],
    ["of a colleague", shared, BOB, null],
    [
      "of a colleague, no longer shared",
      ANN,
      BOB,
      "the deployment's owner may no longer run the %",
    ],
    [
      "by hand, no longer shared",
      ANN,
      { ...BOB, trigger: "MANUAL", deployment_id: null },
      "the caller may no longer run the %",
    ],
    [
      "of a namesake",
      { ...ANN, community: true },
      NAMESAKE,
      "the deployment's owner may no longer run the %",
    ],
    [
      "of a former colleague",
      shared,
      GONE,
      "the deployment's owner has no active API key in organization 'acme'",
    ],
    [
      "of its owner, who has left",
      GONE,
      GONE,
      "the deployment's owner has no active API key in organization 'acme'",
    ],
    [
      "by hand, without a key",
      { owner: "eve" },
      { owner: "eve", trigger: "MANUAL", deployment_id: null },
      "the caller has no active API key",
    ],
  ])("%s has its rights checked again", async (_, owned, by, reason) => {
    const step = aCall(owned);
    for (const target of [step, aWorkflow([step.id], owned)]) {
      const target_kind = target.kind as "call" | "workflow";
      await store.documents.insert(target);
      const run = aRun({ target_id: target.id, target_kind, ...by });
      await store.pendingRuns.insert([run]);
      await dispatch({ store, bus, waiting: createWaitingRuns(64) }, [run], T0);
      expect(published.includes(run.result_id)).toBe(reason === null);
      const outcome = await (target_kind === "call" ? store.results : store.workflowResults).get(
        run.result_id,
      );
      if (reason === null) expect(outcome).toBeUndefined();
      else
        expect(outcome?.meta).toMatchObject({
          result: "UNABLE_TO_RUN",
          message: reason.replace("%", target_kind),
        });
      expect((await store.pendingRuns.get(run.result_id)) === undefined).toBe(reason !== null);
    }
  });
});
