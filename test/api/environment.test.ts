import { expect, it } from "vitest";
import { AN_INSTANT, sharedApi, startApi } from "../support/api.ts";
import type { Answer, Caller, Json, List, TestApi } from "../support/api.ts";
import { answerTo } from "../support/hostile-client.ts";

const api = sharedApi();

const set = (api: TestApi, name: string, value: unknown, as: Caller = api.ann): Promise<Answer> =>
  api.send({
    method: "POST",
    path: `/environment/global/${name}`,
    body: { value },
    as,
  });

it.each(["POST", "PUT"] as const)(
  "creates a variable and its workspace with %s, then changes it",
  async (method) => {
    await using api = await startApi();
    const path = "/environment/staging/HOST_1";
    const made = await api.send({ method, path, body: { value: "a.test" } });
    expect([made.status, made.body]).toEqual([
      201,
      {
        meta: { updated: AN_INSTANT, created: AN_INSTANT, workspace: "staging" },
        workspace_variable: { name: "HOST_1", value: "a.test" },
        id: expect.any(String),
      },
    ]);
    const changed = await api.send({ method, path, body: { value: "" } });
    expect([changed.status, changed.body]).toEqual([
      200,
      {
        ...made.body,
        meta: { ...made.body["meta"], updated: AN_INSTANT },
        workspace_variable: { name: "HOST_1", value: "" },
      },
    ]);
    expect((await api.send({ path })).body).toEqual(changed.body);
    expect((await api.send({ path: `${path}/` })).body).toEqual(changed.body);
  },
);

it("accepts a variable as it was read, with a new value but without its id", async () => {
  const path = "/environment/returned/again";
  await api.send({ method: "POST", path, body: { value: "old" } });
  const { id, ...read } = (await api.send({ path })).body;
  const odd = { ...read, meta: { updated: 5 }, workspace_variable: null, unreadable: true };
  for (const [value, body] of [
    ["new", read],
    ["newer", odd],
  ] as const) {
    const changed = await api.send({ method: "PUT", path, body: { ...body, value } });
    expect([changed.status, changed.body]).toMatchObject([
      200,
      { id, meta: { workspace: "returned" }, workspace_variable: { name: "again", value } },
    ]);
  }
  const refused = await api.send({ method: "PUT", path, body: { ...read, id, value: "v" } });
  expect(refused.body["error_msg"]).toContain("('id' was unexpected)");
});

it.each<[string, string, object, string]>([
  [
    "a name that begins with a digit",
    "1a",
    { value: "v" },
    "variable_name: '1a' does not match '^[a-zA-Z_][a-zA-Z_0-9]*$'",
  ],
  [
    "a name with a dash",
    "a-b",
    { value: "v" },
    "variable_name: 'a-b' does not match '^[a-zA-Z_][a-zA-Z_0-9]*$'",
  ],
  ["no value", "a", {}, "'value' is a required property"],
  ["a number", "a", { value: 5 }, "value: the given value is not of type string"],
  ["null", "a", { value: null }, "value: null is not of type string"],
  [
    "an id",
    "a",
    { value: "v", id: "x" },
    "Additional properties are not allowed ('id' was unexpected)",
  ],
])("refuses %s", async (_what, name, body, error_msg) => {
  const path = `/environment/global/${name}`;
  const answer = await api.send({ method: "POST", path, body });
  expect([answer.status, answer.body]).toEqual([400, { error_msg, error: 400 }]);
  expect((await api.send({ path })).status).toBe(404);
});

it.each([".", "..", "%2E%2e"])("refuses the workspace %s, which clients resolve", async (name) => {
  await using api = await startApi();
  await api.api.start();
  const body = JSON.stringify({ value: "v" });
  const answer = await answerTo(
    Number(new URL(api.api.address() ?? "").port),
    [
      `POST /api/2/environment/${name}/session HTTP/1.1`,
      "Host: a",
      `Authorization: Bearer ${api.ann.key}`,
      "Connection: close",
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
      "",
      body,
    ].join("\r\n"),
  );
  expect(answer).toMatch(/^HTTP\/1.1 400 /);
  expect(answer).toContain("cannot name a workspace");
  expect((await api.send({ path: "/environment/" })).body).toMatchObject({ results: [] });
});

it("lists the variables of one workspace in the order of their creation", async () => {
  for (const name of ["b", "a", "c"]) await set(api, name, name);
  await set(api, "a", "changed");
  await api.send({
    method: "POST",
    path: "/environment/other/d",
    body: { value: "d" },
  });
  const page = async (query: string) =>
    (
      await api.send<List<{ workspace_variable: { name: string } }>>({
        path: `/environment/global${query}`,
      })
    ).body;
  const names = ({ results }: Awaited<ReturnType<typeof page>>) =>
    results.map((one) => one.workspace_variable.name);
  expect(names(await page(""))).toEqual(["b", "a", "c"]);
  const first = await page("?limit=2");
  expect(first.meta.more).toBe(true);
  expect(names(await page(`?limit=2&cursor=${first.meta.next_cursor}`))).toEqual(["c"]);
  expect(await page("nothing")).toEqual({
    meta: { more: false, next_cursor: "" },
    results: [],
  });
});

it("lists the workspaces of the caller in the order of their creation", async () => {
  await using api = await startApi();
  const inOrg = await api.caller("ann", "org");
  const colleague = await api.caller("bob", "org", "VIEWER");
  const setIn = (workspace: string, name: string, as: Caller) =>
    api.send({
      method: "POST",
      path: `/environment/${workspace}/${name}`,
      body: { value: "v" },
      as,
    });
  for (const workspace of ["staging", "global", 'a "b"'])
    await setIn(encodeURIComponent(workspace), "a", inOrg);
  await setIn("global", "b", inOrg);
  await setIn("mine", "a", api.ann);
  const page = async (query: string, as: Caller) =>
    (await api.send<List<Json>>({ path: `/environment${query}`, as })).body;
  const all = [
    { workspace: "staging", variables: 1 },
    { workspace: "global", variables: 2 },
    { workspace: 'a "b"', variables: 1 },
  ];
  expect(await page("/", colleague)).toEqual({
    meta: { more: false, next_cursor: "" },
    results: all,
  });
  const first = await page("?limit=2", inOrg);
  const second = await page(`?limit=2&cursor=${first.meta.next_cursor}`, inOrg);
  expect([...first.results, ...second.results]).toEqual(all);
  expect((await page("", api.ann)).results).toEqual([{ workspace: "mine", variables: 1 }]);
  expect((await page("", await api.caller("eve"))).results).toEqual([]);
});

it("deletes a variable, once", async () => {
  await set(api, "a", "v");
  const sent = { method: "DELETE", path: "/environment/global/a" } as const;
  expect((await api.send(sent)).body).toEqual({ status: "OK" });
  expect((await api.send(sent)).status).toBe(404);
  expect((await set(api, "a", "again")).status).toBe(201);
});

it("separates the workspaces of an organization and of owners without one", async () => {
  await using api = await startApi();
  const callers = {
    annOfOrg: await api.caller("ann", "org"),
    bobOfOrg: await api.caller("bob", "org"),
    ann: api.ann,
    eve: await api.caller("eve"),
    other: await api.caller("ann", "other"),
  };
  expect((await set(api, "a", "of org", callers.annOfOrg)).status).toBe(201);
  expect((await set(api, "a", "of ann", callers.ann)).status).toBe(201);
  expect((await set(api, "a", "by bob", callers.bobOfOrg)).status).toBe(200);
  const seen = async (as: Caller): Promise<unknown> => {
    const { body } = await api.send({ path: "/environment/global/a", as });
    return body["workspace_variable"]?.["value"] ?? body["error"];
  };
  expect([
    await seen(callers.annOfOrg),
    await seen(callers.bobOfOrg),
    await seen(callers.ann),
    await seen(callers.eve),
    await seen(callers.other),
  ]).toEqual(["by bob", "by bob", "of ann", 404, 404]);
  const removed = await api.send({
    method: "DELETE",
    path: "/environment/global/a",
    as: callers.eve,
  });
  expect(removed.status).toBe(404);
});

it("creates a variable once under concurrent requests", async () => {
  await using api = await startApi();
  const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => set(api, "a", String(n))));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    ...Array<number>(7).fill(200),
    201,
  ]);
  const list = await api.send<List>({ path: "/environment/global" });
  expect(list.body.results).toHaveLength(1);
});
