import { expect, it } from "vitest";
import { AN_INSTANT, create, createCall, sharedApi, startApi } from "../support/api.ts";
import type { Answer, Caller, Created, List, TestApi } from "../support/api.ts";

const api = sharedApi();

const createWorkflow = (
  api: TestApi,
  workflow: object = {},
  more: object = {},
  as?: Caller,
): Promise<Created> => create(api, "/workflows/", { meta: { name: "w" }, workflow, ...more }, as);

it("creates a workflow with every default and server-set field", async () => {
  const answer = await api.send<Created>({
    method: "POST",
    path: "/workflows/",
    body: { meta: { name: "checkout" } },
  });
  expect([answer.status, answer.body]).toEqual([
    201,
    {
      id: expect.any(String),
      meta: {
        name: "checkout",
        description: null,
        tags: [],
        owner: "ann",
        created: AN_INSTANT,
        last_update: AN_INSTANT,
      },
      access: { public: false, org: false },
      workflow: { call_ids: [], stop_on_failure: true, handle_cookies: false },
    },
  ]);
  const path = `/workflows/${answer.body.id}/`;
  expect((await api.send({ path })).body).toEqual(answer.body);
});

it.each(["PUT", "POST"] as const)(
  "merges a change with %s, and replaces the calls whole",
  async (method) => {
    const calls = [await createCall(api), await createCall(api)];
    const [first, second] = calls.map(({ id }) => id);
    const made = await createWorkflow(api, { call_ids: [first, second] });
    const { status, body } = await api.send({
      method,
      path: `/workflows/${made.id}/`,
      body: { workflow: { call_ids: [second, first, second] } },
    });
    expect([status, body["workflow"]]).toEqual([
      200,
      {
        call_ids: [second, first, second],
        stop_on_failure: true,
        handle_cookies: false,
      },
    ]);
    expect(body["meta"]).toEqual({
      ...(made["meta"] as object),
      last_update: AN_INSTANT,
    });
  },
);

it.each<[string, object, string]>([
  ["an id", { id: "x" }, "Additional properties are not allowed ('id' was unexpected)"],
  [
    "an unknown property",
    { workflow: { delay: 1 } },
    "Additional properties are not allowed ('delay' was unexpected) in workflow",
  ],
  [
    "a flag in quotes",
    { workflow: { stop_on_failure: "true" } },
    "workflow.stop_on_failure: 'true' is not of type boolean",
  ],
  [
    "null for its calls",
    { workflow: { call_ids: null } },
    "workflow.call_ids: null is not of type array",
  ],
  ["null for its name", { meta: { name: null } }, "meta.name: null is not of type string"],
  [
    "a name of 201 characters",
    { meta: { name: "n".repeat(201) } },
    `meta.name: '${"n".repeat(96)}... is too long (at most 200 characters)`,
  ],
  [
    "101 calls",
    { workflow: { call_ids: Array(101).fill("x") } },
    "workflow.call_ids: 101 items are too many (at most 100)",
  ],
  [
    "a missing call",
    { workflow: { call_ids: ["x"] } },
    "workflow.call_ids[0]: 'x' is not an API Call that you may run",
  ],
  [
    "two of them",
    { workflow: { call_ids: ["x", "y"] } },
    "workflow.call_ids[0]: 'x' is not an API Call that you may run (and 1 other fault)",
  ],
])("refuses %s, on creation and on change", async (_what, part, error_msg) => {
  const made = await createWorkflow(api);
  const expected = [400, { error_msg, error: 400 }];
  const refused = async (path: string, body: object): Promise<unknown> => {
    const answer = await api.send({ method: "PUT", path, body });
    return [answer.status, answer.body];
  };
  const body = { meta: { name: "w" }, ...part };
  expect(await refused("/workflows/", body)).toEqual(expected);
  expect(await refused(`/workflows/${made.id}/`, part)).toEqual(expected);
});

it("needs a name", async () => {
  const { status, body } = await api.send({
    method: "POST",
    path: "/workflows/",
    body: { meta: {} },
  });
  expect([status, body["error_msg"]]).toEqual([400, "'meta.name' is a required property"]);
});

it.each([
  ["nobody", {}, 400],
  ["the community", { settings: true }, 400],
  ["the organization", { org: true }, 201],
])("refers to another owner's call open to %s: %s %s", async (_to, access, expected) => {
  const call = await createCall(api, { access }, await api.caller("bob", "org"));
  const { status } = await api.send({
    method: "POST",
    path: "/workflows/",
    body: { meta: { name: "w" }, workflow: { call_ids: [call.id] } },
    as: await api.caller("ann", "org"),
  });
  expect(status).toBe(expected);
});

it("stays open to changes when one of its calls is no longer shared", async () => {
  const [ann, bob] = [await api.caller("ann", "org"), await api.caller("bob", "org")];
  const { id } = await createCall(api, { access: { org: true } }, bob);
  const made = await createWorkflow(api, { call_ids: [id] }, {}, ann);
  await api.send({
    method: "PUT",
    path: `/calls/${id}/`,
    body: { access: { org: false } },
    as: bob,
  });
  const change = (body: object): Promise<Answer> =>
    api.send({ method: "PUT", path: `/workflows/${made.id}/`, body, as: ann });
  expect((await change({ workflow: { handle_cookies: true } })).status).toBe(200);
  expect((await change({ workflow: { call_ids: [id, id] } })).status).toBe(200);
});

it("lists all workflows, and those of a call, page by page", async () => {
  await using api = await startApi();
  const calls = [await createCall(api), await createCall(api)];
  const [one, other] = calls.map(({ id }) => id);
  const first = await createWorkflow(api, { call_ids: [one, other, one] });
  const second = await createWorkflow(api, { call_ids: [one] });
  const third = await createWorkflow(api, { call_ids: [other] });
  const listed = async (path: string): Promise<string[]> =>
    (await api.send<List>({ path })).body.results.map(({ id }) => id);
  expect(await listed("/workflows/")).toEqual([first.id, second.id, third.id]);
  expect(await listed(`/workflows/call/${one}`)).toEqual([first.id, second.id]);
  await api.send({
    method: "PUT",
    path: `/workflows/${first.id}`,
    body: { workflow: { call_ids: [other] } },
  });
  expect(await listed(`/workflows/call/${one}/`)).toEqual([second.id]);
  const page = await api.send<List>({
    path: `/workflows/call/${other}/?limit=1`,
  });
  expect(page.body.meta.more).toBe(true);
  const { next_cursor } = page.body.meta;
  expect(await listed(`/workflows/call/${other}/?limit=1&cursor=${next_cursor}`)).toEqual([
    third.id,
  ]);
});

it("is deployed, and deleted with its deployments and their schedules", async () => {
  const { id } = await createWorkflow(api);
  const deployment = await create(api, "/deployments/", {
    // By its delay, no run is due before the deletion: its schedule would be kept.
    deployment: { target_id: id, location_id: "", frequency: 1, run_delay: 600 },
  });
  const listed = async (): Promise<string[]> => {
    const path = `/deployments/workflow/${id}/`;
    return (await api.send<List>({ path })).body.results.map((one) => one.id);
  };
  expect(await listed()).toEqual([deployment.id]);
  const path = `/workflows/${id}/`;
  const answer = await api.send({ method: "DELETE", path });
  expect([answer.status, answer.body]).toEqual([200, { status: "OK" }]);
  expect((await api.send({ path })).status).toBe(404);
  expect(await listed()).toEqual([]);
  expect(await api.store.schedules.listNew()).toEqual([]);
});

it("no longer runs a deleted call", async () => {
  const calls = [await createCall(api), await createCall(api)];
  const [gone, kept] = calls.map(({ id }) => id);
  const made = await createWorkflow(api, { call_ids: [gone, kept, gone] });
  await api.send({ method: "DELETE", path: `/calls/${gone}/` });
  const { body } = await api.send({ path: `/workflows/${made.id}/` });
  expect(body["workflow"]?.["call_ids"]).toEqual([kept]);
  const { results } = (await api.send<List>({ path: `/workflows/call/${gone}/` })).body;
  expect(results).toEqual([]);
});
