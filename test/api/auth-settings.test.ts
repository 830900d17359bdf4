import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { authSettingResource } from "../../src/model/auth-setting.ts";
import { createValidator } from "../../src/model/validate.ts";
import {
  AN_INSTANT,
  create,
  createAuthSetting,
  createCall,
  sharedApi,
  startApi,
} from "../support/api.ts";
import type { Created, List } from "../support/api.ts";

const api = sharedApi();

const TYPES =
  "['MANUAL', 'BASIC', 'OAUTH1', 'OAUTH2', 'NONE', 'OAUTH2_JWS', 'OAUTH2_JWT', 'AMAZON']";
const least = {
  meta: { name: "login", domain: "Target.test" },
  settings: { auth_type: "OAUTH2" },
};

it("creates a setting with every default and server-set field", async () => {
  const answer = await api.send<Created>({
    method: "POST",
    path: "/auth/",
    body: least,
  });
  expect([answer.status, answer.body]).toEqual([
    201,
    {
      id: expect.any(String),
      meta: {
        name: "login",
        domain: "target.test",
        description: null,
        tags: [],
        owner: "ann",
        created: AN_INSTANT,
        last_update: AN_INSTANT,
        documentation: { keys: null, docs: null, apps: null, provider: null },
      },
      access: {
        settings: false,
        keys: false,
        org_settings: false,
        org_keys: false,
      },
      keys: { client_id: null, client_secret: null },
      settings: { auth_type: "OAUTH2", custom_variables: {} },
    },
  ]);
  const path = `/auth/${answer.body.id}/`;
  expect((await api.send({ path })).body).toEqual(answer.body);
});

it("stores known and unknown settings unchanged", async () => {
  const settings = {
    auth_type: "OAUTH2_JWT",
    custom_variables: { region: "eu" },
    access_token_url: "https://login.target.test/token",
    authorize_url: "https://login.target.test/",
    scope: "read write",
    audience: "api",
    get_token_method: "POST",
    basic_auth_get_token_method: true,
    issuer: "me",
    subject: "you",
    algorithm: "RS256",
    key_id: "k1",
    header_name: "x-jws",
    detached: false,
    signature_method: "HMAC-SHA256",
    realm: "r",
    region: "eu-west-1",
    service: "s3",
    ssl_cert: "cert",
    ssl_key: "key",
    vendor: { anything: [1, null, "x"] },
  };
  const { id } = await createAuthSetting(api, { settings });
  const { body } = await api.send({ path: `/auth/${id}/` });
  expect(body["settings"]).toEqual(settings);
});

const REQUIRED = "'meta.domain' is a required property";
const notADomain = (shown: string): string =>
  `meta.domain: '${shown}' is not a host below a public suffix, such as api.example.com, nor an internal name (localhost, db, api.internal) or an IP address`;
it.each<[string, object, string]>([
  ["no domain", { meta: { name: "n" }, settings: least.settings }, REQUIRED],
  ["no meta", { settings: least.settings }, REQUIRED],
  ["nothing but access", { access: {} }, REQUIRED],
  [
    "null for a domain",
    { ...least, meta: { name: "n", domain: null } },
    "meta.domain: null is not of type string",
  ],
  [
    "a URL for a domain",
    { ...least, meta: { name: "n", domain: "http://a.test/" } },
    notADomain("http://a.test/"),
  ],
  [
    "a domain with a port",
    { ...least, meta: { name: "n", domain: "a.test:80" } },
    notADomain("a.test:80"),
  ],
  ["an empty domain", { ...least, meta: { name: "n", domain: "" } }, notADomain("")],
  ...["com", "com.", "CO.UK", "github.io", "any.ck", "*.example.com", "公司.cn"].map(
    (domain): [string, object, string] => [
      `the domain ${domain}`,
      { ...least, meta: { name: "n", domain } },
      notADomain(domain),
    ],
  ),
  ["an id", { ...least, id: "x" }, "Additional properties are not allowed ('id' was unexpected)"],
  [
    "an unknown flag",
    { ...least, access: { org: true } },
    "Additional properties are not allowed ('org' was unexpected) in access",
  ],
  [
    "an unknown link",
    { ...least, meta: { ...least.meta, documentation: { faq: "x" } } },
    "Additional properties are not allowed ('faq' was unexpected) in meta.documentation",
  ],
  [
    "an unknown key",
    { ...least, keys: { api_key: "x" } },
    "Additional properties are not allowed ('api_key' was unexpected) in keys",
  ],
  [
    "an unknown type",
    { ...least, settings: { auth_type: "KERBEROS" } },
    `settings.auth_type: 'KERBEROS' is not one of ${TYPES}`,
  ],
  [
    "a variable that is not a string",
    { ...least, settings: { auth_type: "NONE", custom_variables: { n: 5 } } },
    "settings.custom_variables.n: the given value is not of type string or null",
  ],
  [
    "a setting that Sonde does not know and that is too large",
    { ...least, settings: { auth_type: "NONE", vendor: ["x".repeat(64 * 1024)] } },
    "settings.vendor: the given value is larger than 64 KiB",
  ],
  [
    "a setting of another type",
    { ...least, settings: { auth_type: "NONE", detached: "yes" } },
    "settings.detached: 'yes' is not of type boolean or null",
  ],
  [
    "a token URL of another type",
    { ...least, settings: { auth_type: "OAUTH2", access_token_url: 5 } },
    "settings.access_token_url: 5 is not of type string or null",
  ],
  [
    "a header name of another type",
    { ...least, settings: { auth_type: "OAUTH2_JWS", header_name: ["X-Sign"] } },
    'settings.header_name: ["X-Sign"] is not of type string or null',
  ],
  [
    "a token URL of another scheme",
    {
      ...least,
      settings: { auth_type: "OAUTH2", access_token_url: "ftp://x" },
    },
    "settings.access_token_url: 'ftp://x' is not a valid http or https URL",
  ],
  [
    "a token URL on a host that a variable names",
    { ...least, settings: { auth_type: "OAUTH2", access_token_url: "https://{{host}}/token" } },
    "settings.access_token_url: 'https://{{host}}/token' is not a valid http or https URL: variables are not filled in here",
  ],
  [
    "a header name that is no token",
    { ...least, settings: { auth_type: "OAUTH2_JWS", header_name: "X Sign" } },
    "settings.header_name: 'X Sign' is not a valid header name",
  ],
  [
    "an unknown signature method",
    { ...least, settings: { auth_type: "OAUTH1", signature_method: "MD5" } },
    "settings.signature_method: 'MD5' is not one of ['HMAC-SHA1', 'HMAC-SHA256', 'PLAINTEXT']",
  ],
])("refuses %s, on creation and on change", async (_what, body, error_msg) => {
  const { id } = await createAuthSetting(api);
  for (const path of ["/auth/", `/auth/${id}/`]) {
    const answer = await api.send<{ error_msg: string }>({
      method: "PUT",
      path,
      body,
    });
    expect(answer.status).toBe(400);
    expect(answer.body.error_msg.replace(/ \(and .*/, "")).toBe(error_msg);
  }
});

it("accepts an empty text for a setting without a value", async () => {
  const empty = {
    access_token_url: "",
    authorize_url: "",
    scope: "",
    get_token_method: "",
    header_name: "",
    signature_method: "",
    ssl_cert: "",
    ssl_key: "",
  };
  const { settings } = await createAuthSetting(api, {
    settings: { auth_type: "OAUTH1", ...empty },
  });
  expect(settings).toEqual({ auth_type: "OAUTH1", custom_variables: {}, ...empty });
});

const pem = (label: string): string => `-----BEGIN ${label}-----\nMII\n-----END ${label}-----\n`;

it.each(["", "RSA ", "EC ", "ENCRYPTED ", "OPENSSH "])(
  "refuses a %sPRIVATE KEY in ssl_cert, alone or after a certificate, and keeps one in ssl_key",
  async (kind) => {
    const { id } = await createAuthSetting(api);
    const [cert, key] = [pem("CERTIFICATE"), pem(`${kind}PRIVATE KEY`)];
    const put = (settings: object) =>
      api.send({
        method: "PUT",
        path: `/auth/${id}/`,
        body: { meta: { domain: "target.test" }, settings },
      });
    for (const ssl_cert of [key, cert + key, `${cert.trim()}\r\n${key}`])
      expect((await put({ ssl_cert })).body).toEqual({
        error_msg:
          "settings.ssl_cert: a private key is not allowed here: put it in settings.ssl_key",
        error: 400,
      });
    expect((await api.send({ path: `/auth/${id}/` })).text).not.toContain("PRIVATE KEY");
    expect((await put({ ssl_cert: cert + cert, ssl_key: key })).status).toBe(200);
  },
);

it("searches ssl_cert for a private key in less than quadratic time", () => {
  const { settings } = authSettingResource.schema.properties;
  const validator = createValidator(settings);
  const shortest = (text: string): number =>
    Math.min(
      ...Array.from({ length: 20 }, () => {
        const start = performance.now();
        expect(validator.accepts({ auth_type: "NONE", custom_variables: {}, ssl_cert: text })).toBe(
          true,
        );
        return performance.now() - start;
      }),
    );
  const [begun, plain] = ["-----BEGIN ", "certificate"].map((piece) => piece.repeat(5900));
  expect(shortest(begun ?? "")).toBeLessThan(100 * shortest(plain ?? "") + 10);
});

it.each([
  "shop.example",
  "ann.github.io",
  "localhost",
  "db",
  "my_service",
  "internal",
  "api.internal",
  "nas.local",
  "192.0.2.7",
  "[2001:db8::1]",
])("accepts the domain %s", async (domain) => {
  const { meta } = await createAuthSetting(api, { meta: { name: "n", domain } });
  expect(meta).toMatchObject({ domain });
});

it.each(["::1", "2001:DB8:0::1", "::ffff:192.0.2.7"])(
  "accepts %s, and stores it as URLs write it",
  async (text) => {
    const { meta } = await createAuthSetting(api, { meta: { name: "n", domain: text } });
    expect(meta).toMatchObject({ domain: new URL(`http://[${text}]`).hostname });
  },
);

it.each<[string, object, string]>([
  ["no name", { ...least, meta: { domain: "a.test" } }, "'meta.name' is a required property"],
  ["no type", { meta: least.meta, settings: {} }, "'settings.auth_type' is a required property"],
  ["no settings", { meta: least.meta }, "'settings.auth_type' is a required property"],
])("refuses %s on creation", async (_what, body, error_msg) => {
  const answer = await api.send({ method: "POST", path: "/auth/", body });
  expect([answer.status, answer.body]).toEqual([400, { error_msg, error: 400 }]);
});

it("merges a change, including custom variables", async () => {
  const made = await createAuthSetting(api, {
    keys: { client_id: "id", client_secret: "secret" },
    settings: { auth_type: "OAUTH2", custom_variables: { a: "1" }, scope: "s" },
  });
  const { status, body } = await api.send({
    method: "PUT",
    path: `/auth/${made.id}/`,
    body: {
      meta: { domain: "other.test" },
      keys: { client_secret: null },
      settings: { custom_variables: { b: "2" }, scope: null },
    },
  });
  expect(status).toBe(200);
  expect(body).toEqual({
    ...made,
    meta: {
      ...(made["meta"] as object),
      domain: "other.test",
      last_update: AN_INSTANT,
    },
    keys: { client_id: "id", client_secret: null },
    settings: {
      auth_type: "OAUTH2",
      custom_variables: { a: "1", b: "2" },
      scope: null,
    },
  });
});

it("removes a custom variable or unknown setting with null, and nothing with {}", async () => {
  const settings = {
    auth_type: "OAUTH2",
    custom_variables: { a: "1", b: "2", unset: null },
    scope: null,
    vendor: { kept: null },
    unset: null,
  };
  const { id, settings: made } = await createAuthSetting(api, { settings });
  expect(made).toEqual({
    auth_type: "OAUTH2",
    custom_variables: { a: "1", b: "2" },
    scope: null,
    vendor: { kept: null },
  });
  const change = async (changed: object): Promise<unknown> => {
    const body = { meta: { domain: "target.test" }, settings: changed };
    const answer = await api.send({ method: "PUT", path: `/auth/${id}/`, body });
    return answer.body["settings"];
  };
  expect(await change({})).toEqual(made);
  expect(await change({ custom_variables: {}, vendor: {} })).toEqual(made);
  expect(await change({ custom_variables: { a: null, none: null }, vendor: null })).toEqual({
    auth_type: "OAUTH2",
    custom_variables: { b: "2" },
    scope: null,
  });
});

it("limits the variables left after a change, not those named in it", async () => {
  const named = (prefix: string, value: string | null) =>
    Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`${prefix}${n}`, value]));
  const custom_variables = named("old", "v");
  const settings = { auth_type: "NONE", custom_variables };
  const { id } = await createAuthSetting(api, { settings });
  const change = { ...named("old", null), ...named("new", "v") };
  const { body } = await api.send({
    method: "PUT",
    path: `/auth/${id}/`,
    body: { meta: { domain: "a.test" }, settings: { custom_variables: change } },
  });
  expect(body["settings"]?.["custom_variables"]).toEqual(named("new", "v"));
});

it("can be copied by a reader, without its keys", async () => {
  const access = { settings: true };
  const settings = { auth_type: "BASIC", ssl_key: "private" };
  const keys = { client_id: "id", client_secret: "secret" };
  const { id } = await createAuthSetting(api, { access, settings, keys });
  const eve = await api.caller("eve");
  const { id: _, ...read } = (await api.send<Created>({ path: `/auth/${id}/`, as: eve })).body;
  expect(read["keys"]).toBeNull();
  const copy = await api.send({ method: "POST", path: "/auth/", body: read, as: eve });
  expect([copy.status, copy.body]).toMatchObject([
    201,
    {
      meta: { owner: "eve" },
      keys: { client_id: null, client_secret: null },
      settings: { auth_type: "BASIC", ssl_key: null },
    },
  ]);
  const own = await api.send({ method: "PUT", path: `/auth/${id}/`, body: read });
  expect([own.status, own.body["error_msg"]]).toEqual([400, "keys: null is not of type object"]);
});

it("limits the sum of several changes", async () => {
  const { id } = await createAuthSetting(api);
  const add = (prefix: string) =>
    api.send({
      method: "PUT",
      path: `/auth/${id}/`,
      body: {
        meta: { domain: "a.test" },
        settings: {
          custom_variables: Object.fromEntries(
            Array.from({ length: 60 }, (_, n) => [`${prefix}${n}`, "v"]),
          ),
        },
      },
    });
  expect((await add("a")).status).toBe(200);
  const answer = await add("b");
  expect(answer.status).toBe(400);
  expect(answer.text).toContain("settings.custom_variables");
});

const KEYS = { client_id: "id", client_secret: "secret" };
it.each<[string, Record<string, boolean>, unknown, unknown]>([
  ["nothing", {}, undefined, undefined],
  ["keys alone", { keys: true, org_keys: true }, undefined, undefined],
  ["settings", { settings: true }, null, null],
  ["settings and keys", { settings: true, keys: true }, KEYS, KEYS],
  ["settings and the organization's keys", { settings: true, org_keys: true }, null, null],
  ["the organization's settings", { org_settings: true }, null, undefined],
  ["the organization's settings and keys", { org_settings: true, org_keys: true }, KEYS, undefined],
  ["all", { settings: true, keys: true, org_settings: true, org_keys: true }, KEYS, KEYS],
])(
  "sharing %s (%o) shows its keys to a colleague: %o, a stranger: %o",
  async (_with, access, colleague, stranger) => {
    await using api = await startApi();
    const ann = await api.caller("ann", "org");
    const settings = { auth_type: "NONE", ssl_key: "private" };
    const { id } = await createAuthSetting(api, { access, keys: KEYS, settings }, ann);
    const path = `/auth/${id}/`;
    for (const [as, keys] of [
      [await api.caller("bob", "org"), colleague],
      [await api.caller("eve"), stranger],
    ] as const) {
      const got = await api.send({ path, as });
      const listed = (await api.send<List>({ path: "/auth/", as })).body.results;
      if (keys === undefined) {
        expect([got.status, listed]).toEqual([404, []]);
        continue;
      }
      expect([got.status, got.body["keys"]]).toEqual([200, keys]);
      expect(got.body["settings"]?.["ssl_key"]).toBeNull();
      expect(listed).toEqual([got.body]);
      const change = { method: "PUT", path, body: least, as } as const;
      expect((await api.send(change)).status).toBe(403);
    }
    const own = await api.send({ path, as: ann });
    expect([own.body["keys"], own.body["settings"]?.["ssl_key"]]).toEqual([KEYS, "private"]);
  },
);

it("lists the settings of a domain, in any letter case", async () => {
  await using api = await startApi();
  const one = await createAuthSetting(api);
  await createAuthSetting(api, { meta: { name: "n", domain: "other.test" } });
  const { body } = await api.send<List>({ path: "/auth/domain/TARGET.test/" });
  expect(body.results.map(({ id }) => id)).toEqual([one.id]);
});

it("cannot be deleted while calls or tokens use it, and counts them", async () => {
  const { id } = await createAuthSetting(api);
  const request = { method: "GET", url: "http://target.test", auth_id: id };
  const calls = [await createCall(api, { request }), await createCall(api, { request })];
  const token = await create(api, "/tokens/", {
    meta: { name: "t", auth_id: id },
  });
  const remove = async (path: string): Promise<unknown> => {
    const { status, body } = await api.send({ method: "DELETE", path });
    return [status, body["error_msg"] ?? body["status"]];
  };
  expect(await remove(`/auth/${id}/`)).toEqual([
    400,
    "This Authentication Setting is used by 2 API Calls and 1 Token",
  ]);
  for (const call of calls) await remove(`/calls/${call.id}/`);
  expect(await remove(`/auth/${id}/`)).toEqual([
    400,
    "This Authentication Setting is used by 1 Token",
  ]);
  await remove(`/tokens/${token.id}/`);
  expect(await remove(`/auth/${id}/`)).toEqual([200, "OK"]);
  expect((await api.send({ path: `/auth/${id}/` })).status).toBe(404);
});

it("can be deleted while others use it", async () => {
  const bob = await api.caller("bob");
  const { id } = await createAuthSetting(api, { access: { settings: true } });
  const token = await create(api, "/tokens/", { meta: { name: "t", auth_id: id } }, bob);
  const request = { method: "GET", url: "http://target.test", auth_id: id, token_id: token.id };
  const call = await createCall(api, { request }, bob);
  const { status } = await api.send({ method: "DELETE", path: `/auth/${id}/` });
  expect(status).toBe(200);
  for (const path of [`/calls/${call.id}/`, `/tokens/${token.id}/`])
    for (const [method, expected] of [
      ["GET", 200],
      ["PUT", 200],
    ] as const) {
      const body = method === "PUT" ? { meta: { name: "other" } } : undefined;
      expect((await api.send({ method, path, body, as: bob })).status).toBe(expected);
    }
});

it("encrypts its keys, variables and unknown settings at rest", async () => {
  const settings = {
    auth_type: "OAUTH2",
    scope: "readable",
    ssl_key: "s3cret-1",
    custom_variables: { a: "s3cret-2" },
    vendor: { pin: "s3cret-3" },
  };
  const keys = { client_id: "readable too", client_secret: "s3cret-4" };
  const { id } = await createAuthSetting(api, { settings, keys });
  await create(api, "/tokens/", {
    meta: { name: "t", auth_id: id },
    token: {
      access_token: "s3cret-5",
      headers: [{ key: "k", value: "s3cret-6" }],
    },
    api_response: { access_token: "s3cret-7" },
  });
  const { file } = api.database.location as { readonly file: string };
  const stored = Buffer.concat([file, `${file}-wal`].map((path) => readFileSync(path)));
  expect(stored.includes("readable too")).toBe(true);
  expect(stored.includes("s3cret")).toBe(false);
});
