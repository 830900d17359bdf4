import { expect, it } from "vitest";
import { AN_INSTANT, sharedApi, startApi } from "../support/api.ts";
import type { Caller, List } from "../support/api.ts";

const api = sharedApi();

interface KeyAnswer {
  readonly id: string;
  readonly api_key: string;
}

const asCaller = ({ id, api_key }: KeyAnswer): Caller => ({
  key: api_key,
  key_id: id,
});

it.each(["VIEWER", "EDITOR", "OWNER"])(
  "issues a %s key that works at once",
  async (access_level) => {
    const as = await api.caller("bob", "org");
    const { status, body } = await api.send<KeyAnswer>({
      method: "POST",
      path: "/api_keys/",
      body: { access_level, name: "Build server" },
      as,
    });
    expect([status, body]).toEqual([
      201,
      {
        id: expect.any(String),
        api_key: expect.stringMatching(/^[A-Za-z0-9]{32}$/),
        owner: "bob",
        org: "org",
        access_level,
        name: "Build server",
        created: AN_INSTANT,
        last_update: AN_INSTANT,
      },
    ]);
    const read = await api.send({ path: "/calls/", as: asCaller(body) });
    expect(read.status).toBe(200);
  },
);

it("issues a VIEWER key without a name by default", async () => {
  const { body } = await api.send({ method: "POST", path: "/api_keys/" });
  expect(body).toMatchObject({ access_level: "VIEWER", name: null });
});

it.each([
  [{ access_level: "ROOT" }, "access_level: 'ROOT' is not one of ['VIEWER', 'EDITOR', 'OWNER']"],
  [{ name: "" }, "name: '' is too short (at least 1 character)"],
  [{ owner: "eve" }, "Additional properties are not allowed ('owner' was unexpected)"],
])("refuses a key of %o", async (body, error_msg) => {
  const answer = await api.send({
    method: "POST",
    path: "/api_keys/",
    body,
  });
  expect([answer.status, answer.body]).toEqual([400, { error_msg, error: 400 }]);
});

it("lists the active keys of the owner, without secrets", async () => {
  await using api = await startApi();
  await api.caller("eve");
  const issued = await api.send<KeyAnswer>({
    method: "POST",
    path: "/api_keys/",
    body: { name: "Build server" },
  });
  const { body, text } = await api.send<List>({ path: "/api_keys/" });
  expect(body.results.map(({ id }) => id)).toEqual([api.ann.key_id, issued.body.id]);
  expect(body.results[1]).toMatchObject({ name: "Build server" });
  expect(Object.keys(body.results[0] ?? {}).sort()).toEqual([
    "access_level",
    "created",
    "id",
    "last_update",
    "name",
    "org",
    "owner",
  ]);
  expect(text).not.toContain(issued.body.api_key);
});

it("revokes a key at once and permanently", async () => {
  await using api = await startApi();
  const { body } = await api.send<KeyAnswer>({
    method: "POST",
    path: "/api_keys/",
  });
  const path = `/api_keys/${body.id}/`;
  const answer = await api.send({ method: "DELETE", path });
  expect([answer.status, answer.body]).toEqual([200, { status: "OK" }]);
  const used = await api.send({ path: "/calls/", as: asCaller(body) });
  expect(used.status).toBe(401);
  const again = await api.send({ method: "DELETE", path });
  expect([again.status, again.body]).toEqual([404, { error_msg: "API key not found", error: 404 }]);
  const list = await api.send<List>({ path: "/api_keys/" });
  expect(list.body.results).toHaveLength(1);
});
