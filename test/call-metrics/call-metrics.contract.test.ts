// Which series the metrics of calls have, by what was recorded of the calls and how they run.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createCallMetrics } from "../../src/call-metrics/call-metrics.ts";
import { createListing } from "../../src/call-metrics/listing.ts";
import type { Listing } from "../../src/call-metrics/listing.ts";
import { deploymentResource } from "../../src/model/deployment.ts";
import type { Frequency } from "../../src/model/slots.ts";
import { SIMULATION } from "../../src/model/result.ts";
import type { Result, ResultCode } from "../../src/model/result.ts";
import { newId } from "../../src/runtime/ids.ts";
import { Registry, renderMetrics } from "../../src/runtime/metrics.ts";
import type { Store } from "../../src/store/store.ts";
import { captureLog } from "../runtime/log-lines.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { aCall, aResult, aRun, aWorkflow, T0 } from "../support/runs.ts";
import { createTestDatabase, storeKinds } from "../support/stores.ts";
import type { TestDatabase } from "../support/stores.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAILY = 1440;

describe.each(storeKinds)("the series of a call, with %s,", (storeKind) => {
  let database: TestDatabase;
  let store: Store;
  beforeEach(async () => {
    database = await createTestDatabase(storeKind);
    store = await database.open(createManualClock(T0));
    for (const id of ["call", "other", "alone"]) await store.documents.insert(aCall({ id }));
    await store.documents.insert(aWorkflow(["call"], { id: "workflow" }));
    await deploy("workflow", DAILY);
  });
  afterEach(() => database[Symbol.asyncDispose]());

  async function deploy(target_id: string, frequency: Frequency): Promise<void> {
    const id = newId(T0);
    const document = deploymentResource.create(
      { deployment: { target_id, location_id: "local", frequency } },
      { id, owner: "ann", now: T0 },
    );
    const filters = deploymentResource.filters(document);
    const owned = { owner: "ann", owner_org: null, org: false, community: false };
    await store.documents.insert({ id, kind: "deployment", document, filters, ...owned });
  }

  /** Returns the metrics once these results are recorded and their calls are named. */
  async function seriesAfter(...results: readonly Result[]): Promise<string> {
    const registry = new Registry();
    const metrics = createCallMetrics(registry, 10);
    metrics.record([...results, ran("other", T0)]);
    const naming = metrics.naming(store, captureLog().log);
    await naming.start();
    const text = await vi.waitFor(async () => {
      const text = await renderMetrics(registry, []);
      expect(text).toContain('call_id="other"');
      return text;
    });
    await naming.stop();
    return text;
  }

  it("last as long as the schedule says, despite manual runs since", async () => {
    const text = await seriesAfter(
      inWorkflow(ran("call", T0 - 3 * HOUR)),
      byHand(ran("call", T0 - 2 * HOUR)),
    );
    expect(text).toMatch(/^probe_success\{call_id="call",.*\} 1$/m);
    expect(text).toMatch(/^probe_runs_total\{call_id="call",.*,result="pass"\} 2$/m);
  });

  it.each([
    ["itself", "alone"],
    ["in a workflow", "call"],
  ])("last while the call is deployed %s, though another workflow ran last", async (_, id) => {
    await deploy("alone", DAILY);
    const text = await seriesAfter(inWorkflow(ran(id, T0 - 2 * HOUR), "deleted"));
    expect(text).toContain(`probe_success{call_id="${id}"`);
  });

  it("keep no gauges once a frequent deployment has no results, though a rare one is left", async () => {
    await deploy("call", 1);
    const text = await seriesAfter(ran("call", T0 - 2 * HOUR));
    expect(text).toMatch(/^probe_runs_total\{call_id="call",.*,result="pass"\} 1$/m);
    expect(text).not.toContain('probe_success{call_id="call"');
  });

  it("last while a workflow that skips the call is deployed", async () => {
    const text = await seriesAfter(inWorkflow(ran("call", T0 - 2 * HOUR, "SKIPPED")));
    expect(text).toMatch(/^probe_runs_total\{call_id="call",.*,result="skipped"\} 1$/m);
  });

  it("count a result that arrives late, and keep showing a newer one", async () => {
    const late = ran("call", T0 - 10 * MINUTE, "CONNECTION_ERROR");
    const text = await seriesAfter(inWorkflow(ran("call", T0)), inWorkflow(late));
    expect(text).toMatch(/^probe_success\{call_id="call",.*\} 1$/m);
    expect(text).toMatch(/^probe_runs_total\{call_id="call",.*,result="fail"\} 1$/m);
  });

  it("do not count simulated results", async () => {
    const text = await seriesAfter(ran("call", T0), simulated(ran("call", T0, "CONNECTION_ERROR")));
    expect(text).toMatch(/^probe_success\{call_id="call",.*\} 1$/m);
    expect(text).toMatch(/^probe_runs_total\{call_id="call",.*,result="fail"\} 0$/m);
  });

  it("end an hour after a call without a deployment was run by hand", async () => {
    const text = await seriesAfter(byHand(ran("alone", T0 - 2 * HOUR)));
    expect(text).not.toContain('call_id="alone"');
  });
});

describe("the bound of series", () => {
  const record = (listing: Listing, call: string): void => {
    const pair = listing.find(ran(call, T0));
    if (pair) pair.labelText = `call_id="${call}"`;
    listing.bound();
  };

  it("does not count calls that have series by now", () => {
    const listing = createListing(1);
    for (const call of ["call", "other"]) record(listing, call);
    expect(listing.unlisted.size()).toBe(1);
    for (const deleted of listing.pairs()) listing.remove(deleted);
    listing.bound();
    record(listing, "other");
    expect(listing.pairs().map(({ call_id }) => call_id)).toEqual(["other"]);
    expect(listing.unlisted.size()).toBe(0);
  });

  it("prefers the oldest calls, whichever has results first", () => {
    const listing = createListing(1);
    for (const call of ["b", "c", "a"]) record(listing, call);
    expect(listing.find(ran("c", T0))).toBeUndefined();
    expect(listing.pairs().map(({ call_id }) => call_id)).toEqual(["a"]);
    expect(listing.unlisted.keys()).toEqual(["b local", "c local"]);
  });

  it("admits at most as many more until they are named", () => {
    const listing = createListing(2);
    const found = ["a", "b", "c", "d", "e"].map((call) => listing.find(ran(call, T0)));
    expect(found.map((pair) => pair?.call_id)).toEqual(["a", "b", "c", "d", undefined]);
    expect(listing.unlisted.keys()).toEqual(["e local"]);
  });
});

const ran = (target_id: string, due_time: number, result: ResultCode = "COMPLETE"): Result =>
  aResult(aRun({ target_id, due_time }), { result });

const byHand = ({ meta, ...result }: Result): Result => ({
  ...result,
  meta: { ...meta, deployment_id: null, trigger: "MANUAL" },
});

const simulated = ({ meta, ...result }: Result): Result => ({
  ...result,
  meta: { ...meta, agent_id: SIMULATION },
});

const inWorkflow = ({ meta, ...result }: Result, workflow_id = "workflow"): Result => ({
  ...result,
  meta: { ...meta, workflow_id },
});
