// The settings and tokens that a call may refer to, and what changes with an object.
import { StatementSync } from "node:sqlite";
import { expect, it, vi } from "vitest";
import { create, createAuthSetting, createCall, sharedApi, startApi } from "../support/api.ts";
import type { List, TestApi } from "../support/api.ts";

const api = sharedApi();

interface Stock {
  readonly setting: string;
  readonly other: string;
  readonly hidden: string;
  readonly shared: string;
  readonly token: string;
  readonly hiddenToken: string;
}

async function stock(api: TestApi): Promise<Stock> {
  const bob = await api.caller("bob");
  const shared = await createAuthSetting(api, { access: { settings: true } }, bob);
  const setting = await createAuthSetting(api);
  const token = (auth_id: string, as = api.ann) =>
    create(api, "/tokens/", { meta: { name: "t", auth_id } }, as);
  return {
    setting: setting.id,
    other: (await createAuthSetting(api)).id,
    hidden: (await createAuthSetting(api, {}, bob)).id,
    shared: shared.id,
    token: (await token(setting.id)).id,
    hiddenToken: (await token(shared.id, bob)).id,
  };
}

type Named = {
  readonly auth_id?: string | null;
  readonly token_id?: string | null;
};

it.each<[string, (ids: Stock) => Named, (ids: Stock) => string]>([
  [
    "a missing setting",
    () => ({ auth_id: "x" }),
    () => "request.auth_id: 'x' is not an Authentication Setting that you may read",
  ],
  [
    "a setting of another",
    ({ hidden }) => ({ auth_id: hidden }),
    ({ hidden }) =>
      `request.auth_id: '${hidden}' is not an Authentication Setting that you may read`,
  ],
  [
    "a token that is not there",
    ({ setting }) => ({ auth_id: setting, token_id: "x" }),
    ({ setting }) =>
      `request.token_id: 'x' is not a Token of yours for the Authentication Setting '${setting}'`,
  ],
  [
    "a token of another setting",
    ({ other, token }) => ({ auth_id: other, token_id: token }),
    ({ other, token }) =>
      `request.token_id: '${token}' is not a Token of yours for the Authentication Setting '${other}'`,
  ],
  [
    "a token of another owner",
    ({ shared, hiddenToken }) => ({ auth_id: shared, token_id: hiddenToken }),
    ({ shared, hiddenToken }) =>
      `request.token_id: '${hiddenToken}' is not a Token of yours for the Authentication Setting '${shared}'`,
  ],
  [
    "a token without a setting",
    ({ token }) => ({ token_id: token }),
    ({ token }) => `request.token_id: '${token}' is given without request.auth_id`,
  ],
])("refuses a call with %s, on creation and on change", async (_what, named, message) => {
  const ids = await stock(api);
  const request = {
    method: "GET",
    url: "http://target.test/",
    ...named(ids),
  };
  const { id } = await createCall(api);
  for (const [path, body] of [
    ["/calls/", { meta: { name: "n" }, request }],
    [`/calls/${id}/`, { request: named(ids) }],
  ] as const) {
    const answer = await api.send({ method: "PUT", path, body });
    expect([answer.status, answer.body]).toEqual([400, { error_msg: message(ids), error: 400 }]);
  }
});

it("accepts a setting and its token, even a shared setting, and drops both", async () => {
  const { setting, shared, token } = await stock(api);
  const { id } = await createCall(api);
  const change = async (named: Named): Promise<number> =>
    (
      await api.send({
        method: "PUT",
        path: `/calls/${id}/`,
        body: { request: named },
      })
    ).status;
  expect(await change({ auth_id: shared })).toBe(200);
  expect(await change({ auth_id: setting, token_id: token })).toBe(200);
  expect(await change({ auth_id: null })).toBe(400);
  expect(await change({ auth_id: null, token_id: null })).toBe(200);
});

it("leaves a call open to other changes when its setting is no longer shared", async () => {
  const bob = await api.caller("bob");
  const access = { settings: true };
  const setting = await createAuthSetting(api, { access }, bob);
  const request = {
    method: "GET",
    url: "http://target.test/",
    auth_id: setting.id,
  };
  const { id } = await createCall(api, { request });
  await api.send({
    method: "PUT",
    path: `/auth/${setting.id}/`,
    body: { meta: { domain: "target.test" }, access: { settings: false } },
    as: bob,
  });
  const { status } = await api.send({
    method: "PUT",
    path: `/calls/${id}/`,
    body: { meta: { name: "new" }, request: { auth_id: setting.id } },
  });
  expect(status).toBe(200);
});

it("reads one at a time the objects that change with another: they may be large", async () => {
  await using api = await startApi();
  const [call, setting] = [await createCall(api), await createAuthSetting(api)];
  const rows = [{ call_id: call.id, location_id: "local" }];
  const deployment = { target_id: call.id, location_id: "local", frequency: 1 };
  for (let n = 0; n < 3; n += 1) {
    await create(api, "/reports/", { meta: { name: "r" }, groups: [{ name: "g", rows }] });
    await create(api, "/deployments/", { deployment });
    await create(api, "/tokens/", { meta: { name: "t", auth_id: setting.id } });
  }
  const statements = vi.spyOn(StatementSync.prototype, "all");
  const body = { meta: { domain: "other.test" } };
  const moved = await api.send({ method: "PUT", path: `/auth/${setting.id}/`, body });
  const removed = await api.send({ method: "DELETE", path: `/calls/${call.id}/` });
  const isDocument = (value: unknown) => typeof value === "string" && value.startsWith("{");
  const read = statements.mock.results.map(
    ({ value }) => (value as object[]).filter((row) => Object.values(row).some(isDocument)).length,
  );
  statements.mockRestore();
  expect([moved.status, removed.status]).toEqual([200, 200]);
  expect(Math.max(...read)).toBe(1);
  const list = async <T>(path: string) => (await api.send<List<T>>({ path })).body.results;
  const tokens = await list<{ readonly meta: object }>("/tokens/");
  for (const { meta } of tokens) expect(meta).toMatchObject({ domain: "other.test" });
  const reports = await list<{ readonly groups: object }>("/reports/");
  for (const { groups } of reports) expect(groups).toEqual([{ name: "g", rows: [] }]);
  expect([tokens.length, reports.length]).toEqual([3, 3]);
  expect(await list("/deployments/")).toEqual([]);
});
