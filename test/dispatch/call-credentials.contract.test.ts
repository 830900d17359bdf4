// The hub's answers to an agent that asks for the credentials of a call in its run.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createInProcessBus } from "../../src/bus/in-process.ts";
import type { Bus } from "../../src/bus/bus.ts";
import { createCredentialsService } from "../../src/dispatch/call-credentials.ts";
import { dispatch } from "../../src/dispatch/dispatch.ts";
import { createWaitingRuns } from "../../src/dispatch/waiting-runs.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { stepIds } from "../../src/runtime/ids.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import type { NewDocument, PendingRun } from "../../src/store/records.ts";
import type { Store } from "../../src/store/store.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { aCall, aRun, aWorkflow, aWorkflowReport, insertKey, T0 } from "../support/runs.ts";
import { createTestDatabase, storeKinds } from "../support/stores.ts";

const owned = { owner: "ann", owner_org: null, org: false, community: false, filters: {} };
const setting: NewDocument = {
  ...owned,
  id: "setting",
  kind: "auth_setting",
  document: {
    meta: { domain: "target.test" },
    keys: { client_id: "me", client_secret: "hush" },
    settings: { auth_type: "OAUTH2", access_token_url: "https://target.test/token" },
    access: {},
  },
};
const tokenWith = (access_token: string): NewDocument => ({
  ...owned,
  id: "token",
  kind: "token",
  document: {
    meta: { name: "t", auth_id: setting.id },
    token: { grant_type: "client_credentials", access_token, expire_time: null },
    api_response: {},
  },
});

/** Returns a call that uses the token. */
function authorizedCall(): NewDocument {
  const call = aCall();
  const document = call.document as { readonly request: object };
  const request = { ...document.request, auth_id: setting.id, token_id: "token" };
  return { ...call, document: { ...document, request } };
}

describe.each(storeKinds)("a request for a call's credentials, over %s,", (kind) => {
  const stack = new AsyncDisposableStack();
  let store: Store;
  let bus: Bus;
  /** A published run with two identical calls. */
  let run: PendingRun;
  beforeAll(async () => {
    store = await stack.use(await createTestDatabase(kind)).open(createManualClock(T0));
    bus = createInProcessBus({ clock: systemClock, log: createLogger("silent") });
    stack.defer(() => bus.close());
    const service = createCredentialsService({ store, bus });
    await service.start();
    stack.defer(() => service.stop());
    await insertKey(store, T0);
    const call = authorizedCall();
    const workflow = aWorkflow([call.id, call.id]);
    for (const each of [setting, tokenWith("old"), call, workflow])
      await store.documents.insert(each);
    run = await publishedRun(workflow.id);
  });
  afterAll(() => stack.disposeAsync());

  async function publishedRun(target_id: string): Promise<PendingRun> {
    const pending = aRun({ target_id, target_kind: "workflow", deployment_id: null });
    await store.pendingRuns.insert([pending]);
    await dispatch({ store, bus, waiting: createWaitingRuns(64) }, [pending], T0);
    return (await store.pendingRuns.get(pending.result_id)) as PendingRun;
  }

  const idsOf = ({ due_time, result_id }: PendingRun): string[] => stepIds(due_time, result_id, 2);
  const ask = (of: PendingRun, location_id = of.location_id, result_id = idsOf(of)[1] ?? "") =>
    bus.requestCredentials({ location_id, run_id: of.result_id, result_id });
  it("returns the credentials stored now", async () => {
    await store.documents.replace(tokenWith("renewed"));
    expect(await ask(run)).toEqual({
      authorization: expect.objectContaining({
        auth_type: "OAUTH2",
        token: expect.objectContaining({ access_token: "renewed", is_renewed: true }),
      }),
    });
  });

  it("returns the reason when the call's owner may no longer use them", async () => {
    await store.documents.replace({ ...tokenWith("renewed"), owner: "bob" });
    expect(await ask(run)).toEqual({
      unable: "the token was deleted, or belongs to another owner or setting",
    });
    await store.documents.replace(tokenWith("renewed"));
  });

  it("returns nothing for another location, run or call, or before or after the run", async () => {
    const other = await publishedRun(run.target_id);
    expect(JSON.stringify(await ask(other))).toContain("renewed");
    const unpublished = aRun({ target_id: run.target_id, target_kind: "workflow" });
    await store.pendingRuns.insert([unpublished]);
    const unplanned = aRun({ target_id: run.target_id, target_kind: "workflow" });
    await store.pendingRuns.insert([unplanned]);
    await store.pendingRuns.markPublished([unplanned.result_id]);
    expect(await ask(run, "there")).toEqual({});
    expect(await ask(run, run.location_id, idsOf(other)[1])).toEqual({});
    expect(await ask(run, run.location_id, run.result_id)).toEqual({});
    expect(await ask(unpublished)).toEqual({});
    expect(await ask(unplanned)).toEqual({});
    await store.results.record([aWorkflowReport(other)]);
    expect(await ask(other)).toEqual({});
  });
});
