// Objects whose secrets cannot be decrypted.
import { Errors } from "typebox/schema";
import { describe, expect, it } from "vitest";
import { create, startApi } from "../support/api.ts";
import type { Answer, Json, TestApi } from "../support/api.ts";
import { damageSecrets, storedText } from "../support/stored-secrets.ts";
import { storeKinds } from "../support/stores.ts";

interface Made {
  readonly id: string;
  readonly path: string;
  readonly list: string;
  /** The paths of the object and of its list, as the OpenAPI document has them. */
  readonly documented: readonly [path: string, list: string];
}

async function aSetting(api: TestApi): Promise<Made> {
  const { id } = await create(api, "/auth/", {
    meta: { name: "a setting", domain: "target.test" },
    settings: { auth_type: "BASIC", custom_variables: { pin: "s3cret" } },
    keys: { client_id: "client", client_secret: "s3cret" },
  });
  return {
    id,
    path: `/auth/${id}/`,
    list: "/auth/",
    documented: ["/auth/{id}/", "/auth/"],
  };
}

async function aToken(api: TestApi): Promise<Made> {
  const setting = await aSetting(api);
  const { id } = await create(api, "/tokens/", {
    meta: { name: "a token", auth_id: setting.id },
    token: {
      access_token: "s3cret",
      headers: [{ key: "k", value: "s3cret" }],
    },
  });
  return {
    id,
    path: `/tokens/${id}/`,
    list: "/tokens/",
    documented: ["/tokens/{id}/", "/tokens/"],
  };
}

async function aVariable(api: TestApi): Promise<Made> {
  const path = "/environment/global/pin";
  const { id } = await create(api, path, { value: "s3cret" });
  return {
    id,
    path,
    list: "/environment/global",
    documented: ["/environment/{workspace}/{variable_name}", "/environment/{workspace}"],
  };
}

interface OpenApi {
  readonly components: object;
  readonly paths: Readonly<
    Record<
      string,
      {
        readonly get?: {
          readonly responses: {
            readonly 200: {
              readonly content: {
                readonly "application/json": { readonly schema: object };
              };
            };
          };
        };
      }
    >
  >;
}

/** Returns what in the answer to a GET differs from the OpenAPI document. */
async function misfits(
  api: TestApi,
  documented: string,
  { body }: Answer<unknown>,
): Promise<unknown> {
  const { body: document } = await api.send<OpenApi>({ path: "/openapi.json" });
  const answer = document.paths[`/api/2${documented}`]?.get?.responses[200];
  if (!answer) throw new Error(`${documented} is not documented`);
  const { schema } = answer.content["application/json"];
  const [, faults] = Errors({ ...schema, components: document.components }, body);
  return faults;
}

const SETTING = {
  meta: { name: "a setting" },
  keys: { client_id: "client", client_secret: null },
  settings: { auth_type: "BASIC", custom_variables: null },
};
const TOKEN = {
  meta: { name: "a token" },
  token: { access_token: null, headers: null },
};
const VARIABLE = { meta: {}, workspace_variable: { name: "pin", value: null } };

describe.each(storeKinds)("undecryptable secrets on %s", (storeKind) => {
  it.each([
    ["setting", aSetting, SETTING, { meta: { name: "another" } }],
    ["setting", aSetting, SETTING, { keys: { client_secret: "new" } }],
    ["token", aToken, TOKEN, { meta: { name: "another" } }],
    ["token", aToken, TOKEN, { token: { access_token: "new" } }],
    ["variable", aVariable, VARIABLE, { value: "new" }],
  ] as const)(
    "allow a %s to be read, marked and without them, and to be deleted, but not changed",
    async (_what, make, shown, change) => {
      await using api = await startApi({ storeKind });
      const { id, path, list, documented } = await make(api);
      const damaged = await damageSecrets(api.database, id);

      const one = await api.send({ path });
      expect([one.status, one.body]).toMatchObject([200, { ...shown, id, unreadable: true }]);
      const all = await api.send<{ results: Json[] }>({ path: list });
      expect(all.body.results).toEqual([one.body]);
      expect(await misfits(api, documented[0], one)).toEqual([]);
      expect(await misfits(api, documented[1], all)).toEqual([]);

      for (const body of [change, one.body]) {
        const changed = await api.send({ method: "PUT", path, body });
        expect(changed.status).toBeGreaterThanOrEqual(400);
      }
      const changed = await api.send({ method: "PUT", path, body: change });
      expect([changed.status, changed.body]).toEqual([
        500,
        {
          error_msg: expect.stringMatching(
            /^the secrets of this .+ cannot be decrypted, so it was not changed/,
          ),
          error: 500,
        },
      ]);
      expect(await storedText(api.database, id)).toBe(damaged);
      expect(api.logged()).toMatch(/the sealed text at .+ was changed/);

      if (list !== "/environment/global") {
        const { id: _id, ...read } = one.body;
        const copy = await api.send<{ readonly id: string }>({
          method: "POST",
          path: list,
          body: read,
        });
        expect([copy.status, copy.body]).toMatchObject([201, { meta: shown.meta }]);
        expect(copy.body).not.toHaveProperty("unreadable");
      }

      const removed = await api.send({ method: "DELETE", path });
      expect(removed.status).toBe(200);
      expect((await api.send({ path })).status).toBe(404);
    },
  );

  it("are not overwritten when another object changes", async () => {
    await using api = await startApi({ storeKind });
    const { id, path } = await aToken(api);
    const damaged = await damageSecrets(api.database, id);
    const { body } = await api.send<{ meta: { auth_id: string } }>({ path });
    const changed = await api.send({
      method: "PUT",
      path: `/auth/${body.meta.auth_id}/`,
      body: { meta: { domain: "other.test" } },
    });
    expect([changed.status, changed.body.error_msg]).toEqual([
      500,
      expect.stringMatching(
        /^the secrets of one of the Tokens that would change with it cannot be decrypted/,
      ),
    ]);
    expect(changed.text).not.toContain(id);
    expect(api.logged()).toContain(`token/${id}/token/access_token`);
    expect(await storedText(api.database, id)).toBe(damaged);
  });

  it("leave other objects readable and changeable", async () => {
    await using api = await startApi({ storeKind });
    const { id } = await aSetting(api);
    const other = await aSetting(api);
    await damageSecrets(api.database, id);
    const all = await api.send<{ results: Json[] }>({ path: "/auth/" });
    expect(all.body.results).toMatchObject([
      { id, keys: { client_secret: null }, unreadable: true },
      { id: other.id, keys: { client_secret: "s3cret" } },
    ]);
    expect(all.body.results[1]).not.toHaveProperty("unreadable");
    const changed = await api.send({
      method: "PUT",
      path: other.path,
      body: {
        meta: { domain: "target.test" },
        keys: { client_secret: "new" },
      },
    });
    expect([changed.status, changed.body]).toMatchObject([200, { keys: { client_secret: "new" } }]);
  });
});
