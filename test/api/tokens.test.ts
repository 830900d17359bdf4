import { describe, expect, it } from "vitest";
import { renewedToken, unrenewedToken } from "../../src/model/token-renewal.ts";
import { tokenResource } from "../../src/model/token.ts";
import type { Token } from "../../src/model/token.ts";
import { follow } from "../../src/api/owned-documents.ts";
import {
  AN_INSTANT,
  create,
  createAuthSetting,
  createCall,
  sharedApi,
  startApi,
} from "../support/api.ts";
import type { Caller, Created, List, TestApi } from "../support/api.ts";

const api = sharedApi();

const createToken = (
  api: TestApi,
  auth_id: string,
  body: object = {},
  as?: Caller,
): Promise<Created> => create(api, "/tokens/", { meta: { name: "t", auth_id }, ...body }, as);

it("creates a token with every default and the fields of its setting", async () => {
  const setting = await createAuthSetting(api);
  const token = await createToken(api, setting.id);
  expect(token).toEqual({
    id: expect.any(String),
    meta: {
      name: "t",
      auth_id: setting.id,
      owner: "ann",
      domain: "target.test",
      auth_type: "OAUTH2",
      created: AN_INSTANT,
      last_update: AN_INSTANT,
    },
    token: { expire_time: null },
    api_response: {},
  });
  expect((await api.send({ path: `/tokens/${token.id}/` })).body).toEqual(token);
});

it("stores and returns every field, and merges changes", async () => {
  await using api = await startApi();
  const { id: auth_id } = await createAuthSetting(api);
  const token = {
    expire_time: "2026-10-01T12:00:00+02:00",
    access_token: "a",
    grant_type: "password",
    expires_in: 3600,
    token_type: "Bearer",
    scope: "s",
    token_secret: "ts",
    refresh_token: "r",
    username: "u",
    password: "p",
    headers: [{ key: "X-Key", value: "{{key}}" }],
    parameters: [{ key: "q", value: "1" }],
  };
  const api_response = { access_token: "a", nested: { n: [1, null] } };
  const made = await createToken(api, auth_id, { token, api_response });
  const expire_time = "2026-10-01T10:00:00.000000Z";
  expect(made["token"]).toEqual({ ...token, expire_time });
  expect(made["api_response"]).toEqual(api_response);
  const path = `/tokens/${made.id}/`;
  const { body } = await api.send({
    method: "PUT",
    path,
    body: {
      meta: made["meta"],
      token: { access_token: "b", expire_time: null },
    },
  });
  expect(body["token"]).toEqual({
    ...token,
    access_token: "b",
    expire_time: null,
  });
  expect((await api.send({ path })).body).toEqual(body);
  const list = await api.send<List>({ path: "/tokens/" });
  expect(list.body.results).toEqual([body]);
});

it.each([
  ["2026-10-01T12:00:00.123456Z", "2026-10-01T12:00:00.123456Z"],
  ["2026-10-01T14:00:00.9999+02:00", "2026-10-01T12:00:00.999900Z"],
  ["2026-10-01T12:00:00.000000001Z", "2026-10-01T12:00:00.000000Z"],
])("keeps the microseconds of the expiry %s", async (time, expire_time) => {
  const { id: auth_id } = await createAuthSetting(api);
  const body = { meta: { name: "t", auth_id }, token: { expire_time: time } };
  const made = await api.send<Created>({ method: "POST", path: "/tokens/", body });
  expect(made.body["token"]).toEqual({ expire_time });
});

it.each([
  ["10000", "9999-12-31T23:59:59-12:00", "9999-12-31T23:59:59.999000Z"],
  ["0", "0001-01-01T00:00:00+12:00", "0001-01-01T00:00:00.000000Z"],
  ["-1", "0000-01-01T00:00:00+12:00", "0001-01-01T00:00:00.000000Z"],
])(
  "keeps an expiry that is in the year %s in UTC so that it can be sent back",
  async (_, time, expire_time) => {
    const { id: auth_id } = await createAuthSetting(api);
    const token = { access_token: "a", expire_time: time };
    const first = { meta: { name: "t", auth_id }, token };
    const made = await api.send<Created>({ method: "POST", path: "/tokens/", body: first });
    const { id, meta, token: kept } = made.body;
    expect(kept).toMatchObject({ expire_time });
    const body = { meta, token: kept };
    const again = await api.send<Created>({ method: "PUT", path: `/tokens/${id}/`, body });
    expect([again.status, again.body["token"]]).toEqual([200, kept]);
  },
);

it.each<[string, (meta: object) => object, string]>([
  [
    "an id",
    (meta) => ({ meta, id: "x" }),
    "Additional properties are not allowed ('id' was unexpected)",
  ],
  [
    "an unknown property",
    (meta) => ({ meta, token: { id_token: "x" } }),
    "Additional properties are not allowed ('id_token' was unexpected) in token",
  ],
  [
    "a missing setting",
    () => ({ meta: { name: "t", auth_id: "x" } }),
    "meta.auth_id: 'x' is not an Authentication Setting that you may read",
  ],
  [
    "a time that is none",
    (meta) => ({ meta, token: { expire_time: "soon" } }),
    "token.expire_time: 'soon' is not an ISO 8601 date-time",
  ],
  [
    "a number in quotes",
    (meta) => ({ meta, token: { expires_in: "60" } }),
    "token.expires_in: '60' is not of type integer",
  ],
  [
    "half a header",
    (meta) => ({ meta, token: { headers: [{ key: "a" }] } }),
    "'token.headers[0].value' is a required property",
  ],
  [
    "a framing header",
    (meta) => ({ meta, token: { headers: [{ key: "Content-Length", value: "0" }] } }),
    "token.headers[0].key: 'Content-Length' is set by the agent and cannot be overridden",
  ],
  [
    "a response that is too large",
    (meta) => ({ meta, api_response: { x: "x".repeat(64 * 1024) } }),
    "api_response: the given value is larger than 64 KiB",
  ],
])("refuses %s, on creation and on change", async (_what, bodyOf, error_msg) => {
  const { id: auth_id } = await createAuthSetting(api);
  const { id } = await createToken(api, auth_id);
  const body = bodyOf({ name: "t", auth_id });
  for (const path of ["/tokens/", `/tokens/${id}/`]) {
    const answer = await api.send({ method: "PUT", path, body });
    expect([answer.status, answer.body]).toEqual([400, { error_msg, error: 400 }]);
  }
});

it("treats a null secret as absent on creation, and refuses it on change", async () => {
  const { id: auth_id } = await createAuthSetting(api);
  const parts = { token: { access_token: null, headers: null }, api_response: null };
  const made = await createToken(api, auth_id, parts);
  expect([made["token"], made["api_response"]]).toEqual([{ expire_time: null }, {}]);
  const change = await api.send({ method: "PUT", path: `/tokens/${made.id}/`, body: parts });
  expect([change.status, change.body["error_msg"]]).toEqual([
    400,
    "token.access_token: null is not of type string (and 2 other faults)",
  ]);
  const body = { meta: made["meta"], api_response: [1] };
  const refused = await api.send({ method: "POST", path: "/tokens/", body });
  expect(refused.body["error_msg"]).toBe(
    "api_response: the given value is not of type object or null",
  );
});

it.each([
  ["auth_id", { name: "t" }],
  ["name", { auth_id: "x" }],
])("needs %s", async (field, meta) => {
  const answer = await api.send({
    method: "POST",
    path: "/tokens/",
    body: { meta },
  });
  expect(answer.body["error_msg"]).toBe(`'meta.${field}' is a required property`);
});

const ENDPOINT = "https://target.test/token";
const OAUTH2 = { auth_type: "OAUTH2", access_token_url: ENDPOINT };
const CHANGED = (what: string): string =>
  `the owner of the authentication setting changed ${what}: update the token to use it there`;

it("follows its owner's setting", async () => {
  const setting = await createAuthSetting(api, { settings: OAUTH2 });
  const token = await createToken(api, setting.id, { token: { access_token: "a" } });
  const domain = "new.test";
  const settings = { auth_type: "BASIC", access_token_url: "https://new.test/token" };
  const path = `/auth/${setting.id}/`;
  await api.send({ method: "PUT", path, body: { meta: { domain }, settings } });
  const { body } = await api.send({ path: `/tokens/${token.id}/` });
  const changed = { domain, auth_type: "BASIC", last_update: AN_INSTANT };
  expect(body).toEqual({ ...token, meta: { ...(token["meta"] as object), ...changed } });
});

it.each([
  ["meta.domain", { meta: { domain: "new.test" } }],
  [
    "settings.access_token_url",
    { meta: { domain: "target.test" }, settings: { access_token_url: "https://evil.test/" } },
  ],
])(
  "keeps its destination when another owner changes %s, until its own owner updates it",
  async (what, change) => {
    await using api = await startApi();
    const bob = await api.caller("bob", "acme");
    const access = { settings: true, keys: true };
    const setting = await createAuthSetting(api, { access, settings: OAUTH2 });
    const token = await createToken(api, setting.id, { api_response: { a: 1 } }, bob);
    const path = `/tokens/${token.id}/`;
    const put = (body: object) => api.send({ method: "PUT", path: `/auth/${setting.id}/`, body });
    const read = async () => (await api.send({ path, as: bob })).body;

    await put(change);
    const held = await read();
    expect(held["api_response"]).toEqual({ a: 1, renewal_error: CHANGED(what) });
    expect(held["meta"]).toMatchObject({ domain: "target.test" });
    const [entry] = await api.store.audit.list({ of: { owner: "bob", org: "acme" }, limit: 1 });
    expect(entry).toMatchObject({
      actor: api.ann.key_id,
      owner: "ann",
      org: null,
      object_owner: "bob",
      object_org: "acme",
      action: "update",
      kind: "token",
      object_id: token.id,
      fields: ["api_response.renewal_error"],
    });

    await put({ meta: { domain: "target.test" }, settings: OAUTH2 });
    expect((await read())["api_response"]).toEqual({ a: 1 });

    await put(change);
    const updated = await api.send({ method: "PUT", path, body: { meta: { name: "u" } }, as: bob });
    expect(updated.body["api_response"]).toEqual({ a: 1 });
    expect(updated.body["meta"]).toMatchObject({ domain: change.meta.domain });
    await put({ ...change, access: { keys: false } });
    expect(await read()).toEqual(updated.body);
  },
);

it("neither shows nor accepts its endpoint", async () => {
  const setting = await createAuthSetting(api, { settings: OAUTH2 });
  const token = await createToken(api, setting.id);
  const listed = await api.send({ path: `/tokens/auth/${setting.id}/` });
  expect([JSON.stringify(token), listed.text].join()).not.toContain(ENDPOINT);
  const body = { endpoint: "https://evil.test/" };
  const answer = await api.send({ method: "PUT", path: `/tokens/${token.id}/`, body });
  expect(answer.body["error_msg"]).toBe(
    "Additional properties are not allowed ('endpoint' was unexpected)",
  );
});

it("is visible only to its owner, whatever its setting shares", async () => {
  await using api = await startApi();
  const ann = await api.caller("ann", "org");
  const access = {
    settings: true,
    keys: true,
    org_settings: true,
    org_keys: true,
  };
  const setting = await createAuthSetting(api, { access }, ann);
  const { id } = await createToken(api, setting.id, {}, ann);
  for (const as of [await api.caller("bob", "org"), await api.caller("eve")]) {
    const path = `/tokens/${id}/`;
    for (const method of ["GET", "PUT", "DELETE"] as const)
      expect((await api.send({ method, path, body: {}, as })).status).toBe(404);
    for (const list of ["/tokens/", `/tokens/auth/${setting.id}/`])
      expect((await api.send<List>({ path: list, as })).body.results).toEqual([]);
  }
});

it("lists the tokens of a setting", async () => {
  const [one, other] = [await createAuthSetting(api), await createAuthSetting(api)];
  const tokens = [
    await createToken(api, one.id),
    await createToken(api, other.id),
    await createToken(api, one.id),
  ];
  const { body } = await api.send<List>({ path: `/tokens/auth/${one.id}/` });
  expect(body.results).toEqual([tokens[0], tokens[2]]);
});

it("can neither change its setting nor be deleted while calls use it", async () => {
  const [one, other] = [await createAuthSetting(api), await createAuthSetting(api)];
  const { id } = await createToken(api, one.id);
  const request = {
    method: "GET",
    url: "http://target.test",
    auth_id: one.id,
    token_id: id,
  };
  const call = await createCall(api, { request });
  const path = `/tokens/${id}/`;
  const used = { error_msg: "This Token is used by 1 API Call", error: 400 };
  const move = () => api.send({ method: "PUT", path, body: { meta: { auth_id: other.id } } });
  expect((await move()).body).toEqual(used);
  const removed = await api.send({ method: "DELETE", path });
  expect([removed.status, removed.body]).toEqual([400, used]);
  await api.send({ method: "DELETE", path: `/calls/${call.id}/` });
  expect((await move()).body["meta"]?.["auth_id"]).toBe(other.id);
  expect((await api.send({ method: "DELETE", path })).body).toEqual({
    status: "OK",
  });
  expect((await api.send({ path })).status).toBe(404);
});

it("drops its renewal error when it moves to another setting", async () => {
  const { id: auth_id } = await createAuthSetting(api);
  const api_response = { a: 1, renewal_error: "the token endpoint answered 400" };
  const { id } = await createToken(api, auth_id, { api_response });
  const other = await createAuthSetting(api, { settings: OAUTH2 });
  const body = { meta: { auth_id: other.id } };
  const moved = await api.send({ method: "PUT", path: `/tokens/${id}/`, body });
  expect(moved.body["api_response"]).toEqual({ a: 1 });
});

const RENEWED_AT = Date.UTC(2026, 9, 1, 12);

/** Stores the token as a renewal leaves it. */
async function renew(id: string, answer: object): Promise<void> {
  const stored = await api.store.documents.get("token", id);
  await follow(
    api.store,
    tokenResource,
    stored!,
    (token) => renewedToken(token, { ...answer }, RENEWED_AT) as Token,
  );
}

const change = (id: string, body: object) =>
  api.send<Created>({ method: "PUT", path: `/tokens/${id}/`, body });

const withoutId = ({ id: _id, ...body }: Created) => body;

describe("a token that Sonde renews", () => {
  const answer = { access_token: "new", refresh_token: "r2", expires_in: 600 };
  const expire_time = "2026-10-01T12:10:00.000000Z";

  const obtained = async (token: object, answered: object = answer) => {
    const setting = await createAuthSetting(api, { settings: OAUTH2 });
    const made = await createToken(api, setting.id, { token });
    await renew(made.id, answered);
    const { body: read } = await api.send<Created & Token>({ path: `/tokens/${made.id}/` });
    return { made, read };
  };

  it.each([
    [{ grant_type: "client_credentials" }],
    [{ grant_type: "client_credentials", expires_in: 60, expire_time: "2026-01-01T00:00:00Z" }],
    [{ grant_type: "refresh_token", refresh_token: "r1" }],
  ])("keeps what a renewal set when its first version %j is sent back", async (token) => {
    const { made, read } = await obtained(token);
    const { body } = await change(made.id, withoutId(made));
    const { refresh_token: _rotated, ...kept } = read.token;
    expect(body["token"]).toMatchObject(kept);
    expect(body["api_response"]).toEqual(answer);
    if (token.grant_type === "refresh_token")
      expect(body["token"]).toMatchObject({ refresh_token: "r2" });
  });

  it("still expires when its access token is sent back with another expiry", async () => {
    const { made } = await obtained({ grant_type: "client_credentials" });
    const token = { access_token: "new", expire_time: null, expires_in: 5 };
    const { body } = await change(made.id, { token });
    expect(body["token"]).toMatchObject({ expire_time, expires_in: 600 });
  });

  it("takes a new refresh token, and a new access token with its expiry", async () => {
    const { made } = await obtained({ grant_type: "refresh_token", refresh_token: "r1" });
    const first = await change(made.id, { token: { refresh_token: "r3" } });
    expect(first.body["token"]).toMatchObject({ refresh_token: "r3", expire_time });
    const token = { access_token: "mine", refresh_token: "r4", expire_time: null };
    expect((await change(made.id, { token })).body["token"]).toMatchObject(token);
    const later = { expire_time: "2026-12-01T00:00:00.000000Z", expires_in: 9 };
    expect((await change(made.id, { token: later })).body["token"]).toMatchObject(later);
  });

  it("takes the refresh token of an answer that had none", async () => {
    const first = { grant_type: "refresh_token", refresh_token: "r1" };
    const { made } = await obtained(first, { access_token: "new", expires_in: 600 });
    const token = { refresh_token: "r3", expire_time: null };
    const { body } = await change(made.id, { token });
    expect(body["token"]).toMatchObject({ refresh_token: "r3", expire_time });
  });

  it("takes an expiry once it is no longer renewed", async () => {
    const { made } = await obtained({ grant_type: "client_credentials" });
    const token = { grant_type: "", expire_time: null };
    expect((await change(made.id, { token })).body["token"]).toMatchObject(token);
  });

  it("has the error of the latest renewal, whatever is sent back", async () => {
    const { made } = await obtained({ grant_type: "client_credentials" });
    const errorAfter = async (api_response: object): Promise<unknown> => {
      const { body } = await change(made.id, { api_response });
      return (body["api_response"] as Token["api_response"])["renewal_error"];
    };
    expect(await errorAfter({ renewal_error: "old" })).toBeUndefined();
    const stored = await api.store.documents.get("token", made.id);
    await follow(api.store, tokenResource, stored!, (token) => unrenewedToken(token, "late"));
    expect(await errorAfter({ renewal_error: "old" })).toBe("late");
    expect(await errorAfter({ renewal_error: null })).toBe("late");
  });
});
