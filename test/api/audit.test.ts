import { describe, expect, it } from "vitest";
import { create, createAuthSetting, createCall, sharedApi, startApi } from "../support/api.ts";
import type { Caller, List, TestApi } from "../support/api.ts";
import { createManualClock } from "../support/manual-clock.ts";

const api = sharedApi();

const trail = async ({ store }: TestApi) =>
  (await store.audit.list({ limit: 1000 })).map(({ action, kind, object_id, fields }) => [
    action,
    kind,
    object_id,
    fields,
  ]);

it("records who changed what, when and from where", async () => {
  const before = await api.store.now();
  const { id } = await createCall(api);
  const entries = await api.store.audit.list({ limit: 10 });
  expect(entries).toEqual([
    {
      time: expect.any(Number),
      actor: api.ann.key_id,
      owner: "ann",
      org: null,
      address: "127.0.0.1",
      action: "create",
      kind: "call",
      object_id: id,
      object_owner: null,
      object_org: null,
      fields: [],
    },
  ]);
  expect(entries[0]?.time).toBeGreaterThanOrEqual(before);
});

it("ignores headers about the client address", async () => {
  await api.send({
    method: "POST",
    path: "/calls/",
    body: {
      meta: { name: "a call" },
      request: { method: "GET", url: "https://target.test/" },
    },
    headers: { "x-forwarded-for": "203.0.113.9" },
  });
  const [entry] = await api.store.audit.list({ limit: 1 });
  expect(entry?.address).toBe("127.0.0.1");
});

it("records runs, the changed paths of updates, and cascading deletions", async () => {
  await using api = await startApi();
  const { id } = await createCall(api);
  const deployment = await create(api, "/deployments/", {
    deployment: { target_id: id, frequency: 5, location_id: "local" },
  });
  const path = `/calls/${id}/`;
  const body = {
    meta: { name: "other", tags: [] },
    request: { headers: [{ key: "A", value: "b" }] },
  };
  expect((await api.send({ method: "PUT", path, body })).status).toBe(200);
  const run = await api.send({ method: "POST", path: `/calls/${id}/run` });
  expect(run.status).toBe(200);
  expect((await api.send({ method: "DELETE", path })).status).toBe(200);
  expect(await trail(api)).toEqual([
    ["create", "call", id, []],
    ["create", "deployment", deployment.id, []],
    ["update", "call", id, ["meta.name", "request.headers"]],
    ["run", "call", id, []],
    ["delete", "deployment", deployment.id, []],
    ["delete", "call", id, []],
  ]);
});

it("names both owners when a deletion changes others' objects", async () => {
  await using api = await startApi();
  const [ann, bob] = [await api.caller("ann", "acme"), await api.caller("bob", "acme")];
  const { id } = await createCall(api, { access: { org: true } }, ann);
  const meta = { name: "bob's" };
  const post = async (path: string, body: object): Promise<string> =>
    (await create(api, path, body as Record<string, unknown>, bob)).id;
  const workflow = await post("/workflows/", { meta, workflow: { call_ids: [id] } });
  const rows = [{ call_id: id, location_id: "local" }];
  const report = await post("/reports/", { meta, groups: [{ name: "g", rows }] });
  const deployment = await post("/deployments/", {
    deployment: { target_id: id, frequency: 5, location_id: "local" },
  });
  const before = (await api.store.audit.list({ limit: 100 })).length;
  await api.send({ method: "DELETE", path: `/calls/${id}/`, as: ann });
  const entries = (await api.store.audit.list({ limit: 100 })).slice(before);
  expect(entries.every(({ owner, org }) => owner === "ann" && org === "acme")).toBe(true);
  expect(
    entries.map(({ action, object_id, object_owner, object_org }) => [
      action,
      object_id,
      object_owner,
      object_org,
    ]),
  ).toEqual([
    ["delete", deployment, "bob", "acme"],
    ["update", workflow, "bob", "acme"],
    ["update", report, "bob", "acme"],
    ["delete", id, null, null],
  ]);
  const bobs = await api.store.audit.list({ of: { owner: "bob", org: "acme" }, limit: 3 });
  expect(bobs).toEqual(entries.slice(0, 3));
});

it("shows the owner of a shared call who else ran it", async () => {
  await using api = await startApi();
  const [ann, bob] = [await api.caller("ann", "acme"), await api.caller("bob", "acme")];
  const call = await createCall(api, { access: { org: true } }, ann);
  await api.send({ method: "POST", path: `/calls/${call.id}/run`, as: bob });
  const { body } = await api.send<List>({ path: "/audit/?limit=1", as: ann });
  expect(body.results).toMatchObject([
    { action: "run", object_id: call.id, object_owner: "ann", owner: "bob", actor: null },
  ]);
});

it("records no values", async () => {
  await using api = await startApi();
  const { id } = await createAuthSetting(api, {
    keys: { client_id: "cl1ent", client_secret: "s3cret" },
  });
  const path = `/auth/${id}/`;
  const body = {
    meta: { domain: "target.test" },
    keys: { client_secret: "s3cret-2" },
    access: { keys: true },
  };
  expect((await api.send({ method: "PUT", path, body })).status).toBe(200);
  const value = "v4lue";
  const variable = "/environment/global/NAME";
  await api.send({ method: "POST", path: variable, body: { value } });
  await api.send({
    method: "POST",
    path: variable,
    body: { value: "v4lue-2" },
  });
  await api.send({ method: "DELETE", path: variable });
  const entries = await api.store.audit.list({ limit: 10 });
  expect(entries.map(({ action, kind, fields }) => [action, kind, fields])).toEqual([
    ["create", "auth_setting", []],
    ["update", "auth_setting", ["access.keys", "keys.client_secret"]],
    ["create", "variable", []],
    ["update", "variable", ["workspace_variable.value"]],
    ["delete", "variable", []],
  ]);
  expect(JSON.stringify(entries)).not.toMatch(/s3cret|cl1ent|v4lue/);
});

it("records only the place of a sealed value, briefly however long the names are", async () => {
  await using api = await startApi();
  const many = (start: string, value: unknown) =>
    Object.fromEntries(Array.from({ length: 90 }, (_, n) => [`${start}${n}`, value]));
  const settings = {
    custom_variables: { sk_live_1: "a" },
    accounts: { sk_live_2: { sk_live_3: "a" } },
    ["p".repeat(10_000)]: many("sk_live_", "a"),
  };
  const { id } = await createAuthSetting(api, { settings: { auth_type: "NONE", ...settings } });
  const update = async (changed: object): Promise<readonly string[] | undefined> => {
    const body = { meta: { domain: "target.test" }, settings: changed };
    expect((await api.send({ method: "PUT", path: `/auth/${id}/`, body })).status).toBe(200);
    return (await api.store.audit.list({ limit: 1 }))[0]?.fields;
  };
  const long = `settings.${"p".repeat(100)}…`;
  expect(
    await update({
      custom_variables: { sk_live_1: "b" },
      accounts: { sk_live_2: { sk_live_3: "b" } },
      ["p".repeat(10_000)]: many("sk_live_", "b"),
    }),
  ).toEqual(["settings.accounts", "settings.custom_variables", long]);
  await update(many("a", 1));
  const fields = await update({ ...many("a", null), ...many("b", 1) });
  expect(fields).toHaveLength(101);
  expect(fields?.slice(-2)).toEqual(["settings.b17", "and 80 more"]);
});

it("records issued and revoked keys", async () => {
  await using api = await startApi();
  const issued = await create(api, "/api_keys/", { access_level: "EDITOR" });
  const path = `/api_keys/${issued.id}/`;
  await api.send({ method: "DELETE", path });
  expect(await trail(api)).toEqual([
    ["issue", "api_key", issued.id, []],
    ["revoke", "api_key", issued.id, []],
  ]);
  const entries = await api.store.audit.list({ limit: 10 });
  expect(JSON.stringify(entries)).not.toContain(issued["api_key"]);
});

it("records nothing of refused requests", async () => {
  const { id } = await createCall(api);
  const before = await trail(api);
  const bob = await api.caller("bob");
  const path = `/calls/${id}/`;
  const answers = [
    await api.send({ method: "POST", path: "/calls/", body: {} }),
    await api.send({ method: "PUT", path, body: { meta: { name: 1 } } }),
    await api.send({ method: "DELETE", path, as: bob }),
    await api.send({ method: "DELETE", path: "/api_keys/none/" }),
    await api.send({ path }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([400, 400, 404, 404, 200]);
  expect(await trail(api)).toEqual(before);
});

it("records one failed sign-in per minute and address, for 20 addresses, without the key", async () => {
  const clock = createManualClock(Date.UTC(2026, 9, 1));
  await using api = await startApi({ clock });
  const signIn = async (key: string, remoteAddress: string) => {
    const headers = { authorization: `Bearer ${key}` };
    const url = "/api/2/calls/";
    return (await api.api.app.inject({ url, headers, remoteAddress })).statusCode;
  };
  const wrong = "W".repeat(32);
  const addresses = Array.from({ length: 30 }, (_, n) => `192.0.2.${n + 1}`);
  expect(await signIn(api.ann.key, "192.0.2.1")).toBe(200);
  for (const address of addresses)
    for (const key of [wrong, "short"]) expect(await signIn(key, address)).toBe(401);
  const entries = await api.store.audit.list({ limit: 100 });
  expect(entries.map(({ address }) => address)).toEqual([...addresses.slice(0, 20), null]);
  expect(entries[0]).toMatchObject({
    actor: "unknown key",
    owner: null,
    action: "reject",
    kind: "sign_in",
    object_id: "",
    fields: [],
  });
  expect(JSON.stringify(entries)).not.toMatch(/WWW|short/);

  await clock.advance(60_000);
  for (const key of [wrong, wrong]) await signIn(key, "192.0.2.1");
  expect(await api.store.audit.list({ limit: 100 })).toHaveLength(22);
});

interface Entry {
  readonly id: string;
  readonly time: string;
  readonly actor: string | null;
  readonly owner: string | null;
  readonly address: string | null;
  readonly kind: string;
  readonly object_id: string;
}

describe("the list of entries", () => {
  it("has the caller's own, newest first, in pages and by time", async () => {
    const clock = createManualClock(Date.UTC(2026, 9, 1));
    await using api = await startApi({ clock });
    const made: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      await clock.advance(n === 3 ? 0 : 60_000);
      made.unshift((await createCall(api)).id);
    }
    const other = await api.caller("ann", "acme");
    await createCall(api, {}, other);
    const list = async (query = "") =>
      (await api.send<List<Entry>>({ path: `/audit/${query}` })).body;
    const idsIn = ({ results }: List<Entry>) => results.map(({ object_id }) => object_id);
    const all = await list();
    expect(idsIn(all)).toEqual(made);
    expect(all.results[0]).toEqual({
      id: expect.any(String),
      time: "2026-10-01T00:04:00.000000Z",
      actor: api.ann.key_id,
      actor_key: { name: null, access_level: "OWNER", revoked: false },
      owner: "ann",
      org: null,
      address: "127.0.0.1",
      action: "create",
      kind: "call",
      object_id: made[0],
      object_key: null,
      object_owner: null,
      object_org: null,
      fields: [],
    });
    for (const [order, expected] of [
      ["desc", made],
      ["asc", made.toReversed()],
    ] as const) {
      let [cursor, found]: [string, string[]] = ["", []];
      do {
        const page: List<Entry> = await list(`?limit=2&order=${order}&cursor=${cursor}`);
        found = [...found, ...idsIn(page)];
        cursor = page.meta.next_cursor;
      } while (cursor !== "");
      expect(found).toEqual(expected);
    }
    const range = "?from=2026-10-01T00:02:00Z&to=2026-10-01T00:04:00Z";
    expect(idsIn(await list(range))).toEqual(made.slice(1, 4));
    const colleague = await api.send<List<Entry>>({ path: "/audit/", as: other });
    expect(colleague.body.results).toHaveLength(1);
  });

  it("shows what others did to one's own object, but not by which key or from where", async () => {
    await using api = await startApi();
    const [ann, bob] = [await api.caller("ann", "acme"), await api.caller("bob", "acme")];
    const { id } = await createCall(api, { access: { org: true } }, ann);
    const deployment = await create(
      api,
      "/deployments/",
      { deployment: { target_id: id, frequency: 5, location_id: "local" } },
      bob,
    );
    await api.send({ method: "DELETE", path: `/calls/${id}/`, as: ann });
    const seenBy = async (as: Caller) =>
      (await api.send<List<Entry>>({ path: "/audit/", as })).body.results;
    expect(await seenBy(bob)).toMatchObject([
      { action: "delete", object_id: deployment.id, owner: "ann", actor: null, address: null },
      { action: "create", object_id: deployment.id, owner: "bob", actor: bob.key_id },
    ]);
    expect(await seenBy(ann)).toMatchObject([
      { action: "delete", object_id: id, actor: ann.key_id, address: "127.0.0.1" },
      { action: "delete", object_id: deployment.id, object_owner: "bob", actor: ann.key_id },
      { action: "create", object_id: id },
    ]);
  });

  it("names the keys that acted or were issued, revoked ones too, but not those of others", async () => {
    await using api = await startApi();
    const [ann, bob] = [await api.caller("ann", "acme"), await api.caller("bob", "acme")];
    const body = { name: "Build server", access_level: "EDITOR" };
    const issued = await create<{ id: string; api_key: string }>(api, "/api_keys/", body, ann);
    const as = { key_id: issued.id, key: issued.api_key };
    const { id } = await createCall(api, { access: { org: true } }, as);
    const deployment = { target_id: id, frequency: 5, location_id: "local" };
    await create(api, "/deployments/", { deployment }, bob);
    await api.send({ method: "DELETE", path: `/api_keys/${issued.id}/`, as: ann });
    await api.send({ method: "DELETE", path: `/calls/${id}/`, as: ann });
    const { results } = (await api.send<List<Entry>>({ path: "/audit/", as: ann })).body;
    const key = { name: "Build server", access_level: "EDITOR", revoked: true };
    const own = { name: null, access_level: "OWNER", revoked: false };
    expect(results.filter(({ kind }) => kind !== "deployment")).toMatchObject([
      { action: "delete", object_id: id, actor_key: own, object_key: null },
      { action: "revoke", object_id: issued.id, actor_key: own, object_key: key },
      { action: "create", object_id: id, actor_key: key, object_key: null },
      { action: "issue", object_id: issued.id, actor_key: own, object_key: key },
    ]);
    const seenByBob = (await api.send<List<Entry>>({ path: "/audit/", as: bob })).body.results;
    expect(seenByBob[0]).toMatchObject({ action: "delete", actor: null, actor_key: null });
  });
});
