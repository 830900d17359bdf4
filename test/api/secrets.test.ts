import { generateKeyPairSync } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { RESOURCE_SCHEMAS } from "../../src/model/resources.ts";
import { secretPaths } from "../../src/model/secrets.ts";
import { SEALED_KINDS } from "../../src/store/sealed-documents.ts";
import { startApi } from "../support/api.ts";
import type { Created, TestApi } from "../support/api.ts";

const marker = (name: string): string => `m4rk3r-${name}-0123456789`;
const pairs = (name: string) => [{ key: "k", value: marker(name) }];
const ssl_key = generateKeyPairSync("ed25519")
  .privateKey.export({ type: "pkcs8", format: "pem" })
  .toString();
const MARKERS = /m4rk3r-[a-z_]+-0123456789/g;

/** By kind: what is posted where, and which of its fields are secret. */
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
    const object = path.startsWith("/environment/") ? path : `${path}${ids[kind]}/`;
    const [one, all, changed] = [
      await api.send({ path: object }),
      await api.send({ path: path.replace(/NAME$/, "") }),
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
