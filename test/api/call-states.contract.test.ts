// The current state of calls, over the locations where they are deployed, on both databases.
import { describe, expect, it } from "vitest";
import type { PendingRun } from "../../src/store/records.ts";
import { createCall, create, startApi } from "../support/api.ts";
import type { Caller, List, TestApi } from "../support/api.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { aReport, aRun } from "../support/runs.ts";
import { storeKinds } from "../support/stores.ts";
import { deploy, record } from "./call-runs.ts";

const NOW = Date.UTC(2026, 10, 20, 23, 30);
const HOUR = 3_600_000;

interface Overview {
  readonly now: {
    readonly state: string;
    readonly at: readonly string[];
    readonly is_deployed: boolean;
    readonly locations: readonly {
      readonly location_id: string;
      readonly last: { readonly result: string } | null;
    }[];
  } | null;
}

async function textsOf({ send }: TestApi, as: Caller): Promise<(string | null)[]> {
  const { body } = await send<List<Overview>>({ path: "/calls/overview/", as });
  return body.results.map(nowText);
}

/** Formats as `FAILING at far: far HTTP_SERVER_ERROR, local COMPLETE`. */
function nowText({ now }: Pick<Overview, "now">): string | null {
  if (!now) return null;
  const { state, at, is_deployed, locations } = now;
  const each = locations.map(({ location_id, last }) => `${location_id} ${last?.result ?? "–"}`);
  return `${is_deployed ? "" : "not deployed, "}${state} at ${at.join(", ")}: ${each.join(", ")}`;
}

describe.each(storeKinds)("the state of a call on %s", (storeKind) => {
  it("is that of its worst location, whichever ran last", async () => {
    await using api = await startApi({ storeKind, clock: createManualClock(NOW) });
    const { id } = await createCall(api);
    const text = async () => (await textsOf(api, api.ann))[0];
    expect(await text()).toBe("not deployed, NO_RESULT at : ");
    for (const one of ["past", "old"])
      await api.store.locations.insert({ id: one, label: one, region: "", created: NOW });
    for (const location_id of ["local", "far", "past"]) await deploy(api, id, location_id);
    expect(await text()).toBe("NO_RESULT at : far –, local –, past –");

    await record(api, id, { start: NOW - 4 * HOUR, location_id: "far" });
    await record(api, id, {
      start: NOW - 3 * HOUR,
      location_id: "far",
      result: "CONNECTION_ERROR",
    });
    await record(api, id, { start: NOW, location_id: "local" });
    expect(await text()).toBe("FAILING at far: far CONNECTION_ERROR, local COMPLETE, past –");

    await record(api, id, { start: NOW, location_id: "far" });
    await record(api, id, { start: NOW - 71 * HOUR, location_id: "past", result: "UNABLE_TO_RUN" });
    expect(await text()).toBe(
      "NO_RESULT at past: far COMPLETE, local COMPLETE, past UNABLE_TO_RUN",
    );
    // Older than any outcome of a deployment.
    await record(api, id, { start: NOW - 96 * HOUR, location_id: "old", result: "MISSED" });
    await deploy(api, id, "old");
    expect(await text()).toContain("old –");
  });

  it("follows a late result that replaces the latest MISSED one, but no earlier one", async () => {
    await using api = await startApi({ storeKind, clock: createManualClock(NOW) });
    const { id } = await createCall(api);
    await deploy(api, id, "far");
    await deploy(api, id, "local");
    await record(api, id, { start: NOW, location_id: "local" });
    const text = async () => (await textsOf(api, api.ann))[0];
    const due = NOW - 2 * HOUR;
    const [first, second] = [due - 1, due].map((due_time) =>
      aRun({ target_id: id, due_time, location_id: "far" }),
    ) as [PendingRun, PendingRun];
    await api.store.pendingRuns.insert([first, second]);
    for (const run of [first, second])
      await api.store.results.recordUnreported([{ run, result: "MISSED", message: "late" }]);
    expect(await text()).toBe("MISSED at far: far MISSED, local COMPLETE");
    await api.store.results.record([aReport(first, { result: "HTTP_SERVER_ERROR" })]);
    expect(await text()).toBe("MISSED at far: far MISSED, local COMPLETE");
    await api.store.results.record([aReport(second, { start: due + HOUR + 1 })]);
    expect(await text()).toBe("PASSING at far, local: far COMPLETE, local COMPLETE");
  });

  it("ignores locations where the call is no longer deployed", async () => {
    await using api = await startApi({ storeKind, clock: createManualClock(NOW) });
    const { id } = await createCall(api);
    const far = await deploy(api, id, "far");
    const local = await deploy(api, id, "local");
    await record(api, id, { start: NOW - HOUR, location_id: "far", result: "HTTP_SERVER_ERROR" });
    await record(api, id, { start: NOW - 1, location_id: "local" });
    await record(api, id, { start: NOW, location_id: "near", result: "HTTP_SERVER_ERROR" });
    const text = async () => (await textsOf(api, api.ann))[0];
    expect(await text()).toBe("FAILING at far: far HTTP_SERVER_ERROR, local COMPLETE");
    await api.send({ method: "DELETE", path: `/deployments/${far.id}/` });
    expect(await text()).toBe("PASSING at local: local COMPLETE");
    await api.send({ method: "DELETE", path: `/deployments/${local.id}/` });
    expect(await text()).toBe("not deployed, FAILING at near: near HTTP_SERVER_ERROR");
  });

  it("covers its workflow's locations when the call itself is not deployed", async () => {
    await using api = await startApi({ storeKind, clock: createManualClock(NOW) });
    const { id } = await createCall(api);
    const workflow = await create(api, "/workflows/", {
      meta: { name: "w" },
      workflow: { call_ids: [id] },
    });
    for (const location_id of ["far", "local"]) await deploy(api, workflow.id, location_id);
    await record(api, id, { start: NOW - HOUR, location_id: "far", result: "HTTP_SERVER_ERROR" });
    await record(api, id, { start: NOW, location_id: "local" });
    const text = async () => (await textsOf(api, api.ann))[0];
    expect(await text()).toBe("FAILING at far: far HTTP_SERVER_ERROR, local COMPLETE");
    await deploy(api, id, "local");
    expect(await text()).toBe("PASSING at local: local COMPLETE");
  });

  it("shows readers of results only the locations that have results", async () => {
    await using api = await startApi({ storeKind, clock: createManualClock(NOW) });
    const bob = await api.caller("bob");
    const { id } = await createCall(api, { access: { settings: true, results: true } });
    await createCall(api, { access: { settings: true } });
    await deploy(api, id, "far");
    await deploy(api, id, "local");
    const texts = () => textsOf(api, bob);
    expect(await texts()).toEqual(["not deployed, NO_RESULT at : ", null]);
    await record(api, id, { start: NOW - HOUR, location_id: "far", result: "HTTP_SERVER_ERROR" });
    expect(await texts()).toEqual(["FAILING at far: far HTTP_SERVER_ERROR", null]);
    expect((await textsOf(api, api.ann))[0]).toContain("local –");
  });

  it("shows its owner no location of another's workflow without results", async () => {
    await using api = await startApi({ storeKind, clock: createManualClock(NOW) });
    const [ann, eve] = [await api.caller("ann", "shop"), await api.caller("eve", "shop")];
    const { id } = await createCall(api, { access: { org: true } }, ann);
    const workflow = { meta: { name: "w" }, workflow: { call_ids: [id] } };
    const { id: workflowId } = await create(api, "/workflows/", workflow, eve);
    await deploy(api, workflowId, "far", eve);
    expect(await textsOf(api, ann)).toEqual(["not deployed, NO_RESULT at : "]);
    expect(await textsOf(api, eve)).toEqual(["NO_RESULT at : far –"]);
    await record(api, id, { start: NOW, location_id: "far" });
    expect(await textsOf(api, ann)).toEqual(["PASSING at far: far COMPLETE"]);
  });

  it("is the same for one call as in the list", async () => {
    await using api = await startApi({ storeKind, clock: createManualClock(NOW) });
    const bob = await api.caller("bob");
    const { id } = await createCall(api, { access: { settings: true, stats: true } });
    await deploy(api, id, "far");
    await record(api, id, { location_id: "far", result: "MISSED" });
    for (const as of [api.ann, bob]) {
      const { body } = await api.send({ path: `/calls/${id}/overview/`, as });
      const list = await api.send<List>({ path: "/calls/overview/", as });
      expect(body).toEqual(list.body.results[0]);
    }
  });
});
