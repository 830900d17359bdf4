import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { AN_INSTANT, createAuthSetting, createCall, sharedApi, startApi } from "../support/api.ts";
import type { CallAnswer, List, Sent } from "../support/api.ts";

const api = sharedApi();

it("creates a call with every default and server-set field", async () => {
  const answer = await api.send({
    method: "POST",
    path: "/calls/",
    body: {
      meta: { name: "status" },
      request: { method: "get", url: "https://Target.test:8443/x?y=1" },
    },
  });
  expect(answer.status).toBe(201);
  expect(answer.body).toEqual({
    id: expect.any(String),
    meta: {
      name: "status",
      description: null,
      tags: [],
      owner: "ann",
      domain: "target.test",
      created: AN_INSTANT,
      last_update: AN_INSTANT,
      accept: null,
      content_type: null,
    },
    access: { settings: false, results: false, stats: false, org: false },
    request: {
      method: "GET",
      url: "https://Target.test:8443/x?y=1",
      parameters: [],
      headers: [],
      body: null,
      auth_id: null,
      token_id: null,
    },
  });
});

it.each(["PUT", "POST"] as const)(
  "merges the body of %s into the object, and replaces arrays whole",
  async (method) => {
    const call = await createCall(api, {
      meta: { name: "n", description: "d", tags: ["a", "b"] },
      access: { org: true },
    });
    const answer = await api.send<CallAnswer>({
      method,
      path: `/calls/${call.id}/`,
      body: {
        meta: { tags: ["c"] },
        request: { parameters: [{ key: "k", value: "v" }] },
      },
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      ...call,
      meta: { ...call.meta, tags: ["c"], last_update: expect.any(String) },
      request: { ...call.request, parameters: [{ key: "k", value: "v" }] },
    });
    const got = await api.send({ path: `/calls/${call.id}/` });
    expect(got.body).toEqual(answer.body);
  },
);

it("updates the domain with the URL, in the object and in the filter", async () => {
  await using api = await startApi();
  const { id } = await createCall(api);
  const answer = await api.send<CallAnswer>({
    method: "PUT",
    path: `/calls/${id}/`,
    body: { request: { url: "https://Other.test/" } },
  });
  expect(answer.body.meta["domain"]).toBe("other.test");
  const found = async (domain: string): Promise<number> =>
    (await api.send<List>({ path: `/calls/?domain=${domain}` })).body.results.length;
  expect([await found("OTHER.test"), await found("target.test")]).toEqual([1, 0]);
});

it.each([
  ["{{BASE}}/x", "{{BASE}}"],
  ["https://%%HOST%%.test/", "%%HOST%%.test"],
  ["{{SCHEME}}://Shop.test/", "shop.test"],
  ["https://bücher.test/", "BÜCHER.test"],
])("is listed by its domain, variables as written: %s", async (url, domain) => {
  const { id } = await createCall(api, { request: { method: "GET", url } });
  const path = `/calls/?domain=${encodeURIComponent(domain)}`;
  const { results } = (await api.send<List>({ path })).body;
  expect(results.map((call) => call.id)).toEqual([id]);
});

it.each<[string, Record<string, unknown>, string]>([
  ["its id", { id: "same" }, "Additional properties are not allowed ('id' was unexpected)"],
  ["null for a name", { meta: { name: null } }, "meta.name: null is not of type string"],
  ["an empty name", { meta: { name: "" } }, "meta.name: '' is too short (at least 1 character)"],
])("refuses an update with %s", async (_what, body, error_msg) => {
  const call = await createCall(api);
  const path = `/calls/${call.id}/`;
  const sent = body["id"] === undefined ? body : { id: call.id };
  const answer = await api.send({ method: "PUT", path, body: sent });
  expect([answer.status, answer.body]).toEqual([400, { error_msg, error: 400 }]);
  expect((await api.send({ path })).body).toEqual(call);
});

it("keeps every one of many concurrent updates", async () => {
  const { id } = await createCall(api);
  const path = `/calls/${id}/`;
  const fields = ["description", "accept", "content_type", "name"];
  await Promise.all(
    fields.map((field) => api.send({ method: "PUT", path, body: { meta: { [field]: "new" } } })),
  );
  const { body } = await api.send<CallAnswer>({ path });
  expect(fields.map((field) => body.meta[field])).toEqual(fields.map(() => "new"));
});

it("updates only the version that If-Match names", async () => {
  const { id } = await createCall(api);
  const path = `/calls/${id}/`;
  const etag = String((await api.send({ path })).headers["etag"]);
  const update = {
    method: "PUT",
    path,
    headers: { "if-match": etag },
  } as const;
  const first = await api.send({ ...update, body: { meta: { name: "b" } } });
  const second = await api.send({ ...update, body: { meta: { name: "c" } } });
  expect([first.status, second.status]).toEqual([200, 412]);
  const third = await api.send({
    ...update,
    headers: { "if-match": String(first.headers["etag"]) },
    body: { meta: { name: "c" } },
  });
  expect(third.status).toBe(200);
  for (const tags of [`"another", ${String(third.headers["etag"])}`, "*"]) {
    const any = { ...update, headers: { "if-match": tags } };
    expect((await api.send({ ...any, body: { meta: { name: "c" } } })).status).toBe(200);
  }
});

it("is not sent again to a client that names its version in If-None-Match", async () => {
  const { id } = await createCall(api);
  const path = `/calls/${id}/`;
  const { headers: whole } = await api.send({ path });
  const tag = String(whole["etag"]);
  const { date: _date, "content-type": _type, "content-length": _length, ...kept } = whole;
  for (const known of [tag, `W/${tag}`, tag.replace(/"$/, '-gzip"'), `"other",${tag}`, "*"])
    for (const method of ["GET", "HEAD"] as const) {
      const headers = { "if-none-match": known };
      const answer = await api.send({ method, path: `${path}?debug=1`, headers });
      const { date: _now, ...sent } = answer.headers;
      expect([known, answer.status, answer.text, sent]).toEqual([known, 304, "", kept]);
    }
});

it("is sent to a client that names other versions, or changes it, in spite of If-None-Match", async () => {
  const { id } = await createCall(api);
  const path = `/calls/${id}/`;
  const tag = String((await api.send({ path })).headers["etag"]);
  const statusOf = async (sent: Partial<Sent>, known = tag): Promise<number> =>
    (await api.send({ path, headers: { "if-none-match": known }, ...sent })).status;
  for (const other of ["", '"', '"other"', tag.slice(0, -1), `${tag}x`])
    expect([other, await statusOf({}, other)]).toEqual([other, 200]);
  expect(await statusOf({ path: `${path}?kind=DAY` }, "*")).toBe(200);
  expect(await statusOf({ path: "/calls/none/" }, "*")).toBe(404);
  expect(await statusOf({ method: "PUT", body: {} })).toBe(200);
  expect(await statusOf({ method: "PUT", body: { meta: { name: "b" } } })).toBe(200);
  expect(await statusOf({})).toBe(200);
});

it.each([
  ["nginx", (etag: string) => `W/${etag}`],
  ["Apache", (etag: string) => etag.replace(/"$/, '-gzip"')],
])("knows a version by the tag that %s makes when it compresses", async (_, changed) => {
  const { id } = await createCall(api);
  const path = `/calls/${id}/`;
  const etag = changed(String((await api.send({ path })).headers["etag"]));
  const update = { method: "PUT", path, headers: { "if-match": etag } } as const;
  const first = await api.send({ ...update, body: { meta: { name: "b" } } });
  const second = await api.send({ ...update, body: { meta: { name: "c" } } });
  expect([first.status, second.status]).toEqual([200, 412]);
});

it("deletes a call with its deployments and their schedules", async () => {
  const { id } = await createCall(api);
  const other = await createCall(api);
  const deployments: string[] = [];
  for (const target_id of [id, id, other.id]) {
    // By its delay, no run is due before the deletion: its schedule would be kept.
    const deployment = { target_id, location_id: "", frequency: 1, run_delay: 600 };
    const { body } = await api.send<CallAnswer>({
      method: "POST",
      path: "/deployments/",
      body: { deployment },
    });
    deployments.push(body.id);
  }
  const answer = await api.send({ method: "DELETE", path: `/calls/${id}/` });
  expect([answer.status, answer.body]).toEqual([200, { status: "OK" }]);
  expect((await api.send({ path: `/calls/${id}/` })).status).toBe(404);
  const left = await api.send<List>({ path: "/deployments/" });
  expect(left.body.results.map((one) => one.id)).toEqual([deployments[2]]);
  const schedules = await api.store.schedules.listNew();
  expect(schedules.map((one) => one.deployment_id)).toEqual([deployments[2]]);
});

it("lists the calls of an Authentication Setting", async () => {
  const setting = await createAuthSetting(api);
  await createCall(api);
  const { id } = await createCall(api, {
    request: { method: "GET", url: "http://a.test", auth_id: setting.id },
  });
  const path = `/calls/auth/${setting.id}/`;
  const { body } = await api.send<List>({ path });
  expect(body.results.map((one) => one.id)).toEqual([id]);
});

it("answers other requests while it removes a call from many workflows", async () => {
  const [call, other] = [await createCall(api), await createCall(api)];
  const body = { meta: { name: "one of many" }, workflow: { call_ids: [call.id] } };
  for (let n = 0; n < 300; n += 1) await api.send({ method: "POST", path: "/workflows/", body });
  let isDeleted = false;
  const deletion = api
    .send({ method: "DELETE", path: `/calls/${call.id}/` })
    .finally(() => (isDeleted = true));
  let answered = 0;
  for (; !isDeleted; answered += 1) {
    await api.send({ path: `/calls/${other.id}/` });
    await nextTurn();
  }
  expect((await deletion).status).toBe(200);
  expect(answered).toBeGreaterThan(100);
});
