import { generateKeyPairSync } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { RESOURCE_SCHEMAS } from "../../src/model/resources.ts";
import { secretPaths } from "../../src/model/secrets.ts";
import { SEALED_KINDS } from "../../src/store/documents/sealed-documents.ts";
import { startApi } from "../support/api.ts";
import type { Created, TestApi } from "../support/api.ts";

const marker = (name: string): string => `m4rk3r-${name}-0123456789`;
const pairs = (name: string) => [{ key: "k", value: marker(name) }];
const ssl_key = generateKeyPairSync("ed25519")
  .privateKey.export({ type: "pkcs8", format: "pem" })
  .toString();
const MARKERS = /m4rk3r-[a-z_]+-0123456789/g;

/** By kind: where to post which body, and which of its fields are secret. */
const RESOURCES: Readonly<
  Record<
    string,
    {
      readonly path: string;
      readonly body: (ids: Readonly<Record<string, string>>) => object;
      readonly secrets: readonly string[];
    }
  >
> = {
  auth_setting: {
    path: "/auth/",
    body: () => ({
      meta: { name: "a setting", domain: "target.test" },
      settings: { auth_type: "OAUTH2", ssl_key },
      keys: { client_id: "client", client_secret: marker("client_secret") },
    }),
    secrets: ["keys.client_secret", "settings.custom_variables", "settings.ssl_key"],
  },
  token: {
    path: "/tokens/",
    body: ({ auth_setting }) => ({
      meta: { name: "a token", auth_id: auth_setting },
      token: {
        access_token: marker("access_token"),
        token_secret: marker("token_secret"),
        refresh_token: marker("refresh_token"),
        password: marker("password"),
        headers: pairs("headers"),
        parameters: pairs("parameters"),
      },
      api_response: { access_token: marker("api_response") },
    }),
    secrets: [
      "api_response",
      "token.access_token",
      "token.headers",
      "token.parameters",
      "token.password",
      "token.refresh_token",
      "token.token_secret",
    ],
  },
  variable: {
    path: "/environment/global/NAME",
    body: () => ({ value: marker("variable") }),
    secrets: ["workspace_variable.value"],
  },
};

const objectPath = (path: string, id: string | undefined): string =>
  path.startsWith("/environment/") ? path : `${path}${id}/`;
const listPath = (path: string): string => path.replace(/NAME$/, "");

const FILES = ["", "-wal", "-shm"];

function storedBytes({ database }: TestApi): string {
  if (!("file" in database.location)) throw new Error("no SQLite file");
  const { file } = database.location;
  return FILES.map((suffix) => `${file}${suffix}`)
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, "latin1"))
    .join("");
}

it("shows secrets to their owner, and writes none to files or log", async () => {
  await using api = await startApi();
  const ids: Record<string, string> = {};
  expect(Object.keys(RESOURCES)).toEqual(SEALED_KINDS);
  const shown = new Set<string>();
  for (const [kind, { path, body, secrets }] of Object.entries(RESOURCES)) {
    const headers = { "idempotency-key": `key-${kind}` };
    const sent = { method: "POST", path, body: body(ids), headers } as const;
    const made = await api.send<Created>(sent);
    expect(made.status, made.text).toBe(201);
    const schema = RESOURCE_SCHEMAS[kind as keyof typeof RESOURCE_SCHEMAS];
    const found = secretPaths(schema, made.body).map((at) => at.join("."));
    expect(found.toSorted(), kind).toEqual(secrets);
    ids[kind] = made.body.id;

    const again = await api.send(sent);
    expect([again.status, again.text]).toEqual([201, made.text]);
    const object = objectPath(path, ids[kind]);
    const [one, all, changed] = [
      await api.send({ path: object }),
      await api.send({ path: listPath(path) }),
      await api.send({ method: "PUT", path: object, body: body(ids) }),
    ];
    expect(one.text).toBe(made.text);
    expect(all.text).toContain(made.text);
    expect(changed.status, changed.text).toBe(200);
    for (const [text] of one.text.matchAll(MARKERS)) shown.add(text);
  }
  expect(shown.size).toBe(9);

  const stored = storedBytes(api);
  expect(stored).toContain("a setting");
  const keyLine = ssl_key.split("\n")[1] ?? "";
  expect(keyLine).not.toBe("");
  for (const where of [stored, api.logged()]) {
    expect(where.match(MARKERS)).toBeNull();
    expect(where).not.toContain(keyLine);
  }
});

/** By kind: the fields that read as null. */
const HIDDEN: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(Object.entries(RESOURCES).map(([kind, { secrets }]) => [kind, secrets])),
  auth_setting: ["keys", "settings.custom_variables", "settings.ssl_key", "settings.vendor"],
};

it.each(["its owner", "a colleague"])("shows no secret to a VIEWER key of %s", async (whose) => {
  await using api = await startApi();
  const ann = await api.caller("ann", "acme", "EDITOR");
  const isOwn = whose === "its owner";
  const viewer = await api.caller(isOwn ? "ann" : "bob", "acme", "VIEWER");
  const editor = await api.caller(isOwn ? "ann" : "bob", "acme", "EDITOR");
  const shared = {
    access: { org_settings: true, org_keys: true },
    settings: { auth_type: "OAUTH2", ssl_key, vendor: { pin: marker("vendor") } },
  };
  const ids: Record<string, string> = {};
  for (const [kind, { path, body }] of Object.entries(RESOURCES)) {
    const sent = { ...body(ids), ...(kind === "auth_setting" && shared) };
    const headers = { "idempotency-key": "one-key" };
    const made = await api.send<Created>({ method: "POST", path, body: sent, as: ann, headers });
    expect(made.status, made.text).toBe(201);
    ids[kind] = made.body.id;
    const [object, of] = [objectPath(path, ids[kind]), ids["auth_setting"]];
    if (kind === "token" && !isOwn) continue;
    const [open, hidden] = [
      await api.send({ path: object, as: editor }),
      await api.send({ path: object, as: viewer }),
    ];
    const nulls = HIDDEN[kind]!.map((at): unknown => valueAt(hidden.body, at));
    expect(nulls, kind).toEqual(nulls.map(() => null));
    expect(open.text, kind).toMatch(MARKERS);
    if (isOwn) expect(open.text).toBe(made.text);
    expect(hidden.headers["etag"] ?? "none").not.toBe(open.headers["etag"]);
    const lists = [listPath(path), "/auth/domain/target.test/", `/tokens/auth/${of}/`];
    for (const list of lists) {
      const { status, text } = await api.send({ path: list, as: viewer });
      expect([status, text.match(MARKERS), text.includes("PRIVATE KEY")]).toEqual([
        200,
        null,
        false,
      ]);
    }
    expect((await api.send({ path: listPath(path), as: viewer })).text).toContain(hidden.text);
    // The answer kept for the editor's request.
    const again = await api.send({ method: "POST", path, body: sent, as: viewer, headers });
    expect([again.status, again.text.match(MARKERS)]).toEqual([403, null]);
  }
});

const valueAt = (body: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], body);

it("shows no secret of a body that it rejects", async () => {
  await using api = await startApi();
  const meta = { name: "a setting", domain: "target.test" };
  const setting = (settings: object, keys: unknown = {}) => ({
    meta,
    settings: { auth_type: "MANUAL", ...settings },
    keys,
  });
  const created = await api.send<Created>({ method: "POST", path: "/auth/", body: setting({}) });
  const token = (given: object) => ({
    meta: { name: "a token", auth_id: created.body.id },
    token: given,
  });
  const secret = marker("rejected");
  const rejected: readonly (readonly [path: string, body: object])[] = [
    ["/auth/", setting({}, { client_secret: [secret] })],
    ["/auth/", setting({}, secret)],
    ["/auth/", setting({ custom_variables: { a: [secret] } })],
    ["/auth/", setting({ ssl_key: secret.repeat(10_000) })],
    ["/tokens/", token({ access_token: [secret] })],
    ["/tokens/", token({ headers: [{ key: "A", value: `${secret}\n` }] })],
    ["/environment/global/x", { value: [secret] }],
  ];
  for (const [path, body] of rejected) {
    const answer = await api.send({ method: "POST", path, body });
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).toMatch(/: the given value (?!.*m4rk3r)/);
  }
});
