// The limits of one owner: requests, objects, their size, keys and manual runs.
import { describe, expect, it } from "vitest";
import type { Limits } from "../../src/api/budgets.ts";
import type { Call } from "../../src/model/call.ts";
import type { StoredDocument } from "../../src/store/records.ts";
import { create, createCall, LIMITS, startApi } from "../support/api.ts";
import type { Caller, TestApi } from "../support/api.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { aReport, T0 } from "../support/runs.ts";
import { storeKinds } from "../support/stores.ts";

const KIB = 1024;
const DAY = 24 * 3_600_000;

describe.each(storeKinds)("budgets on %s", (storeKind) => {
  const start = (limits: Partial<Limits>): Promise<TestApi> =>
    startApi({ storeKind, config: { limits: { ...LIMITS, ...limits } } });
  const calls = (count: number): string =>
    `One owner may not have more than ${count} API Calls: delete API Calls, or ask the operator to raise SONDE_MAX_OBJECTS`;
  const postCall = ({ send, ann }: TestApi, size = 0, as: Caller = ann) =>
    send({
      method: "POST",
      path: "/calls/",
      body: {
        meta: { name: "a call" },
        request: { method: "post", url: "https://target.test/", body: "x".repeat(size) },
      },
      as,
    });

  it("limit the objects of each kind, of one owner in one organization", async () => {
    await using api = await start({ objects: 2 });
    const [first] = [await createCall(api), await createCall(api)];
    const refused = await postCall(api);
    expect([refused.status, refused.body["error_msg"]]).toEqual([403, calls(2)]);
    const inShop = await api.caller("ann", "shop");
    expect((await postCall(api, 0, inShop)).status).toBe(201);
    await create(api, "/auth/", {
      meta: { name: "n", domain: "a.example" },
      settings: { auth_type: "NONE" },
    });
    await api.send({ method: "DELETE", path: `/calls/${first.id}/` });
    expect((await postCall(api)).status).toBe(201);
    expect((await postCall(api)).status).toBe(403);
    expect(await api.store.usage.of({ owner: "ann", org: null }, "call")).toMatchObject({
      objects: 2,
    });
  });

  it("hold for concurrent requests", async () => {
    await using api = await start({ objects: 3, keys: 3, manualRuns: 3 });
    const { id } = await createCall(api);
    const statuses = async (send: () => Promise<{ readonly status: number }>) =>
      (await Promise.all(Array.from({ length: 12 }, send)))
        .map(({ status }) => status)
        .toSorted((a, b) => a - b);
    const post = (path: string) => () => api.send({ method: "POST", path, body: {} });
    const some = (taken: number[], refused: number): number[] => [
      ...taken,
      ...Array.from({ length: 12 - taken.length }, () => refused),
    ];
    expect(await statuses(() => postCall(api))).toEqual(some([201, 201], 403));
    expect(await statuses(post("/api_keys/"))).toEqual(some([201, 201], 403));
    expect(await statuses(post(`/calls/${id}/run`))).toEqual(some([200, 200, 200], 429));
  });

  it("count concurrent deletions and changes of one object once", async () => {
    await using api = await start({});
    const path = "/environment/global/A";
    for (let round = 0; round < 5; round += 1) {
      const call = await createCall(api);
      const { id } = await create(api, "/deployments/", {
        deployment: { target_id: call.id, location_id: "", frequency: 60 },
      });
      await Promise.all(
        [`/calls/${call.id}/`, `/deployments/${id}/`, `/deployments/${id}/`].map((of) =>
          api.send({ method: "DELETE", path: of }),
        ),
      );
      await Promise.all(
        ["v", "vv", "vvv"].map((value) => api.send({ method: "POST", path, body: { value } })),
      );
      await Promise.all([1, 2].map(() => api.send({ method: "DELETE", path })));
    }
    for (const kind of ["call", "deployment", "variable"] as const)
      expect(await api.store.usage.of({ owner: "ann", org: null }, kind)).toEqual({
        objects: 0,
        bytes: 0,
      });
  });

  it("count environment variables, but not their changes", async () => {
    await using api = await start({ objects: 1 });
    const set = (name: string) =>
      api.send({ method: "POST", path: `/environment/global/${name}`, body: { value: "v" } });
    expect([(await set("A")).status, (await set("A")).status]).toEqual([201, 200]);
    expect((await set("B")).status).toBe(403);
  });

  it("limit the size of all definitions, of growing ones too", async () => {
    await using api = await start({ definitionsMiB: 1 });
    expect((await postCall(api, 500 * KIB)).status).toBe(201);
    const small = await createCall(api);
    const change = (size: number) =>
      api.send({
        method: "PUT",
        path: `/calls/${small.id}/`,
        body: { request: { method: "post", body: "x".repeat(size) } },
      });
    expect((await change(510 * KIB)).status).toBe(200);
    const refused = await postCall(api, 100 * KIB);
    expect([refused.status, refused.body["error_msg"]]).toEqual([
      403,
      "One owner may not have definitions of more than 1 MiB: delete objects, or ask the operator to raise SONDE_MAX_DEFINITIONS_MIB",
    ]);
    expect((await createCall(api)).id).toBeDefined();
    expect((await change(400 * KIB)).status).toBe(200);
    expect((await postCall(api, 200 * KIB)).status).toBe(403);
    expect((await postCall(api, 100 * KIB)).status).toBe(201);
    expect((await change(510 * KIB)).status).toBe(403);
    const { bytes } = await api.store.usage.of({ owner: "ann", org: null }, "call");
    expect(bytes).toBeGreaterThan(1000 * KIB);
    expect(bytes).toBeLessThanOrEqual(1024 * KIB);
  });

  it("let definitions shrink that are too large, since the limit was lowered", async () => {
    await using api = await start({ definitionsMiB: 1 });
    const [{ id: large }, { id: small }] = [await createCall(api), await createCall(api)];
    const before = (await api.store.documents.get("call", large)) as StoredDocument<Call>;
    const { request, ...call } = before.document;
    const document = { ...call, request: { ...request, body: "x".repeat(1200 * KIB) } };
    const change = async (size: number) => {
      const body = { request: { method: "post", body: "x".repeat(size) } };
      return (await api.send({ method: "PUT", path: `/calls/${small}/`, body })).status;
    };
    expect(await change(300 * KIB)).toBe(200);
    await api.store.documents.replace({ ...before, document, filters: {} });
    expect(await change(300 * KIB + 1)).toBe(403);
    expect(await change(300 * KIB - 1)).toBe(200);
  });

  it("limit the answers kept for repeated requests in a day", async () => {
    const clock = createManualClock(T0);
    const limits = { ...LIMITS, definitionsMiB: 1 };
    await using api = await startApi({ storeKind, clock, config: { limits } });
    const { id } = (await postCall(api, 500 * KIB)).body as unknown as { readonly id: string };
    const path = `/calls/${id}/`;
    const rename = (name: string, headers = {}) =>
      api.send({ method: "PUT", path, body: { meta: { name } }, headers });
    const once = (name: string) => rename(name, { "idempotency-key": name });
    expect((await once("first")).status).toBe(200);
    const refused = await once("second");
    expect([refused.status, refused.headers["retry-after"], refused.body["error_msg"]]).toEqual([
      429,
      "86400",
      "Answers of more than 1 MiB may not be kept for one owner in a day (SONDE_MAX_DEFINITIONS_MIB): send the request without Idempotency-Key",
    ]);
    expect((await api.send({ path })).body["meta"]).toMatchObject({ name: "first" });
    expect((await once("first")).status).toBe(200);
    expect((await rename("second")).status).toBe(200);
    await clock.advance(DAY);
    expect((await once("second")).status).toBe(200);
  });

  it("limit definitions in bytes: a change to longer characters grows", async () => {
    await using api = await start({ definitionsMiB: 1 });
    await postCall(api, 500 * KIB);
    const call = await createCall(api);
    const change = (body: string) =>
      api.send({
        method: "PUT",
        path: `/calls/${call.id}/`,
        body: { request: { method: "post", body } },
      });
    expect((await change("x".repeat(400 * KIB))).status).toBe(200);
    expect((await change("é".repeat(400 * KIB))).status).toBe(403);
    expect((await change("é".repeat(200 * KIB))).status).toBe(200);
    const { bytes } = await api.store.usage.of({ owner: "ann", org: null }, "call");
    expect(bytes).toBeLessThanOrEqual(1024 * KIB);
  });

  it("count the other objects that a deletion removes or changes", async () => {
    await using api = await start({});
    const call = await createCall(api);
    await create(api, "/deployments/", {
      deployment: { target_id: call.id, location_id: "", frequency: 60 },
    });
    const workflow = await create(api, "/workflows/", {
      meta: { name: "w" },
      workflow: { call_ids: [call.id] },
    });
    await api.send({ method: "DELETE", path: `/calls/${call.id}/` });
    await api.send({ method: "DELETE", path: `/workflows/${workflow.id}/` });
    const ann = { owner: "ann", org: null };
    for (const kind of ["call", "deployment", "workflow"] as const)
      expect(await api.store.usage.of(ann, kind)).toEqual({ objects: 0, bytes: 0 });
  });

  it("limit the active keys", async () => {
    await using api = await start({ keys: 2 });
    const issue = () =>
      api.send<{ id: string; error_msg: string }>({ method: "POST", path: "/api_keys/", body: {} });
    const issued = await issue();
    expect(issued.status).toBe(201);
    expect((await issue()).body.error_msg).toBe(
      "One owner may not have more than 2 active keys: revoke keys, or ask the operator to raise SONDE_MAX_KEYS",
    );
    await api.send({ method: "DELETE", path: `/api_keys/${issued.body.id}/` });
    expect((await issue()).status).toBe(201);
  });

  it("limit unfinished manual runs", async () => {
    await using api = await start({ manualRuns: 2 });
    const call = await createCall(api, { access: { org: true } });
    const run = (headers = {}) =>
      api.send<{ result_id: string; error_msg: string }>({
        method: "POST",
        path: `/calls/${call.id}/run`,
        body: {},
        headers,
      });
    const first = await run({ "idempotency-key": "k" });
    await run();
    const refused = await run();
    expect([refused.status, refused.headers["retry-after"], refused.body.error_msg]).toEqual([
      429,
      "5",
      "You have 2 unfinished manual runs, the maximum for one owner (SONDE_MAX_MANUAL_RUNS); try again when one has ended",
    ]);
    expect((await run({ "idempotency-key": "k" })).body).toEqual(first.body);
    const bob = await api.caller("bob");
    const other = await createCall(api, {}, bob);
    const his = await api.send({ method: "POST", path: `/calls/${other.id}/run`, as: bob });
    expect(his.status).toBe(200);
    const pending = await api.store.pendingRuns.get(first.body.result_id);
    if (!pending) throw new Error("the run is not pending");
    await api.store.results.record([aReport(pending)]);
    expect((await run()).status).toBe(200);
    expect((await run()).status).toBe(429);
  });
});

it("limits the requests that a key makes in a minute", async () => {
  const clock = createManualClock(Date.UTC(2026, 9, 1));
  await using api = await startApi({
    clock,
    config: { limits: { ...LIMITS, requestsPerMinute: 3 } },
  });
  const other = await api.caller("ann");
  const list = () => api.send({ path: "/calls/" });
  for (let n = 0; n < 3; n += 1) expect((await list()).status).toBe(200);
  await clock.advance(45_000);
  const refused = await list();
  expect([refused.status, refused.headers["retry-after"], refused.body["error_msg"]]).toEqual([
    429,
    "15",
    "Too many requests with this API key: at most 3 a minute (SONDE_MAX_REQUESTS_PER_MINUTE); try again in 15 s",
  ]);
  expect((await api.send({ path: "/calls/", as: other })).status).toBe(200);
  await clock.advance(15_000);
  expect((await list()).status).toBe(200);
});
