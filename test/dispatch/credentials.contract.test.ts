import { describe, expect, it } from "vitest";
import { buildTicks } from "../../src/dispatch/build-tick.ts";
import { workspaceKey } from "../../src/model/environment.ts";
import type { TickCall } from "../../src/model/tick.ts";
import { newId } from "../../src/runtime/ids.ts";
import type { NewDocument } from "../../src/store/records.ts";
import type { Store } from "../../src/store/store.ts";
import { aRun, insertKey } from "../support/runs.ts";
import { damageSecrets } from "../support/stored-secrets.ts";
import { createTestDatabase, storeKinds } from "../support/stores.ts";

const newDocument = (
  kind: NewDocument["kind"],
  document: object,
  rest: Partial<NewDocument> = {},
): NewDocument => ({
  id: newId(Date.now()),
  kind,
  owner: "ann",
  owner_org: "acme",
  org: false,
  community: false,
  document,
  filters: {},
  ...rest,
});

const newSetting = (access: object, owned: Partial<NewDocument> = {}, settings: object = {}) =>
  newDocument(
    "auth_setting",
    {
      meta: { domain: "a.example" },
      access,
      keys: { client_id: "me", client_secret: "hush" },
      settings: { auth_type: "BASIC", custom_variables: {}, ...settings },
    },
    owned,
  );

const newCall = (
  auth_id: string | null,
  token_id: string | null = null,
  url = "http://a.example/",
) =>
  newDocument("call", {
    meta: { name: "call", domain: "a.example", tags: [] },
    request: { method: "GET", url, parameters: [], headers: [], body: null, auth_id, token_id },
  });

/** Returns the calls in the ticks of runs of these calls. */
async function tickCalls(store: Store, ...calls: readonly NewDocument[]): Promise<TickCall[]> {
  for (const call of calls) await store.documents.insert(call);
  await insertKey(store, Date.now(), { org: "acme" });
  const runs = calls.map(({ id }) => aRun({ target_id: id, owner_org: "acme" }));
  const { ticks } = await buildTicks(store, runs);
  return ticks.flatMap((tick) => tick.calls);
}

const CERTIFIED = { ssl_cert: "certificate", ssl_key: "key" };
const HUSH = { client_id: "me", client_secret: "hush" };
const GONE = "the authentication setting was deleted, or the call's owner may no longer use it";
const NO_KEYS = "the owner of the authentication setting does not share its keys";
const NO_CERTIFICATE =
  "only the owner of the authentication setting may use its client certificate";
const NO_TOKEN = "the token was deleted, or belongs to another owner or setting";

describe.each(storeKinds)("the credentials of a tick from %s", (kind) => {
  const authorize = async (call: NewDocument, ...stored: readonly NewDocument[]) => {
    await using database = await createTestDatabase(kind);
    const store = await database.open();
    for (const document of stored) await store.documents.insert(document);
    return (await tickCalls(store, call))[0];
  };

  const shared = { org_settings: true, org_keys: true };
  const bob = { owner: "bob", org: true };
  const eve = { owner: "eve", owner_org: null, community: true };
  it.each<[string, NewDocument, object]>([
    ["its owner's own", newSetting({}), { authorization: { keys: HUSH } }],
    ["a colleague's with its keys", newSetting(shared, bob), { authorization: { keys: HUSH } }],
    [
      "a colleague's without its keys",
      newSetting({ org_settings: true }, bob),
      { unable: NO_KEYS },
    ],
    [
      "the community's without its keys",
      newSetting({ settings: true, org_keys: true }, eve),
      { unable: NO_KEYS },
    ],
    [
      "a colleague's that needs no keys",
      newSetting({ org_settings: true }, bob, { auth_type: "MANUAL" }),
      { authorization: { keys: {} } },
    ],
    [
      "its owner's own with a client certificate",
      newSetting({}, {}, CERTIFIED),
      { authorization: { settings: CERTIFIED } },
    ],
    [
      "a colleague's with a client certificate",
      newSetting(shared, bob, CERTIFIED),
      { unable: NO_CERTIFICATE },
    ],
    [
      "a stranger's",
      newSetting({ keys: true }, { owner: "eve", owner_org: null }),
      { unable: GONE },
    ],
  ])("are those of a setting: %s", async (_, setting, expected) => {
    const call = await authorize(newCall(setting.id), setting);
    expect(call).toMatchObject(expected);
    if ("unable" in expected) expect(call).not.toHaveProperty("authorization");
  });

  it("are sent for an owner with an active key only, whoever runs the call", async () => {
    const gone = { owner: "gone", org: true };
    const [setting, free] = [newSetting({}, gone), newCall(null)];
    const call = { ...newCall(setting.id), ...gone };
    expect(await authorize(call, setting)).toMatchObject({
      unable: "the call's owner has no active API key in organization 'acme'",
    });
    expect(await authorize({ ...free, ...gone })).not.toHaveProperty("unable");
  });

  it.each<[string, Partial<NewDocument>, string, string?]>([
    ["choose the host of their owner's calls", {}, "https://{{host}}/{{v}}"],
    ["choose the host of colleagues' calls", bob, "https://{{host}}/"],
    ["choose no host of others' calls", eve, "https://{{host}}.a.example/", "host"],
    ["begin no URL of others' calls", eve, "%7B%7B host %7D%7D://a.example/", "host"],
    ["choose no host, with a slash in their name", eve, "https://{{a/b}}/", "a/b"],
    ["choose no host, with a hash in their name", eve, "https://a.example{{a#b}}", "a#b"],
    ["fill in the rest of others' calls", eve, "https://a.example/{{host}}"],
  ])("have custom variables that %s", async (_, owned, url, refused) => {
    const custom_variables = {
      host: "evil.example",
      v: "1",
      "a/b": "evil.example",
      "a#b": ".evil",
    };
    const setting = newSetting({ org_settings: true, settings: true }, owned, {
      auth_type: "NONE",
      custom_variables,
    });
    const call = await authorize(newCall(setting.id, null, url), setting);
    const names = Object.keys(custom_variables).filter((name) => name !== refused);
    expect(Object.keys(call?.authorization?.settings["custom_variables"] ?? {})).toEqual(names);
  });

  it.each<[string, Partial<NewDocument>, string | null]>([
    ["the owner's own", {}, null],
    ["a colleague's", { owner: "bob" }, NO_TOKEN],
  ])("are those of a token: %s", async (_, owned, unable) => {
    const setting = newSetting({});
    const token = newDocument(
      "token",
      {
        meta: { name: "t", auth_id: setting.id },
        token: { access_token: "x", expire_time: "1970-01-01T00:00:01Z" },
        api_response: { renewal_error: "it answered 400" },
      },
      owned,
    );
    const call = await authorize(newCall(setting.id, token.id), setting, token);
    if (unable === null)
      expect(call?.authorization?.token).toEqual({
        name: "t",
        access_token: "x",
        expires_at: 1000,
        renewal_failure: "it answered 400",
      });
    else expect(call).toMatchObject({ unable });
  });

  const oauth = (access: object, owned: Partial<NewDocument> = {}) => {
    const setting = newSetting(access, owned);
    const settings = {
      auth_type: "OAUTH2",
      access_token_url: "https://a.example/token",
    };
    const document = { ...(setting.document as object), settings };
    return { ...setting, document };
  };
  it.each<[string, NewDocument, string, true | undefined]>([
    ["we renew", oauth({}), "client_credentials", true],
    ["nobody renews", oauth({}), "authorization_code", undefined],
    ["a shared setting renews", oauth(shared, bob), "password", true],
    [
      "a setting shared without its keys cannot renew",
      oauth({ org_settings: true }, bob),
      "password",
      undefined,
    ],
  ])("say whether a token is one that %s", async (_, setting, grant_type, expected) => {
    const token = newDocument("token", {
      meta: { name: "t", auth_id: setting.id, domain: "a.example" },
      token: { grant_type, expire_time: null },
      api_response: {},
      endpoint: "https://a.example/token",
    });
    const call = await authorize(newCall(setting.id, token.id), setting, token);
    expect(call?.authorization?.token?.is_renewed).toBe(expected);
  });

  it.each<[string, object, object]>([
    ["another domain", { meta: { domain: "b.example" } }, { withheld: /changed meta\.domain: / }],
    [
      "another endpoint",
      { settings: { auth_type: "OAUTH2", access_token_url: "https://b.example/token" } },
      { withheld: /changed settings\.access_token_url: / },
    ],
    ["the same place", {}, { access_token: /^x$/ }],
  ])("hold a token for another's setting that leads to %s", async (_, change, expected) => {
    const made = oauth(shared, bob);
    const setting = { ...made, document: { ...(made.document as object), ...change } };
    const token = newDocument("token", {
      meta: { name: "t", auth_id: setting.id, domain: "a.example", auth_type: "OAUTH2" },
      token: { access_token: "x", expire_time: null, grant_type: "password", password: "x" },
      api_response: {},
      endpoint: "https://a.example/token",
    });
    const held = await authorize(newCall(setting.id, token.id), setting, token);
    for (const [name, pattern] of Object.entries(expected))
      expect(held?.authorization?.token).toHaveProperty(name, expect.stringMatching(pattern));
    if ("withheld" in expected)
      expect(Object.keys(held?.authorization?.token ?? {})).toEqual([
        "name",
        "expires_at",
        "withheld",
      ]);
  });

  it.each([
    ["setting", "the authentication setting cannot be decrypted"],
    ["token", "the token cannot be decrypted"],
    ["variable", "the environment variable pin cannot be decrypted"],
  ] as const)("prevent the calls that need an undecryptable %s", async (damaged, unable) => {
    await using database = await createTestDatabase(kind);
    const store = await database.open();
    const setting = newSetting({});
    const token = newDocument("token", {
      meta: { name: "t", auth_id: setting.id },
      token: { access_token: "x", expire_time: null },
      api_response: {},
    });
    const workspace = workspaceKey({ owner: "ann", org: "acme" }, "global");
    const variable = newDocument(
      "variable",
      { workspace_variable: { name: "pin", value: "1234" } },
      { filters: { workspace, name: "pin" } },
    );
    const stored = { setting, token, variable };
    for (const one of Object.values(stored)) await store.documents.insert(one);
    await damageSecrets(database, stored[damaged].id);
    const [naming, other] = await tickCalls(
      store,
      newCall(setting.id, token.id, "http://a.example/{{pin}}"),
      newCall(setting.id, token.id),
    );
    expect(naming).toMatchObject({ unable });
    expect(other?.unable).toBe(damaged === "variable" ? undefined : unable);
  });

  it("never come from a deleted setting or token, or a token of another setting", async () => {
    expect(await authorize(newCall("gone"))).toMatchObject({ unable: GONE });
    const setting = newSetting({});
    const token = newDocument("token", {
      meta: { name: "t", auth_id: "other" },
      token: { expire_time: null },
    });
    for (const token_id of ["gone", token.id])
      expect(await authorize(newCall(setting.id, token_id), setting, token)).toMatchObject({
        unable: NO_TOKEN,
      });
  });
});
