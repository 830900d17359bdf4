// The settings and tokens that a call may refer to.
import { expect, it } from "vitest";
import { create, createAuthSetting, createCall, sharedApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";

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
