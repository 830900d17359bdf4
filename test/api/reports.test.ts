import { StatementSync } from "node:sqlite";
import { expect, it, vi } from "vitest";
import { AN_INSTANT, create, createCall, sharedApi, startApi } from "../support/api.ts";
import type { Caller, Created, List, TestApi } from "../support/api.ts";

const api = sharedApi();

const createReport = (api: TestApi, body: object = {}, as?: Caller): Promise<Created> =>
  create(api, "/reports/", { meta: { name: "r" }, ...body }, as);

const row = (call_id: string, location_id = "local") => ({
  call_id,
  location_id,
});

it("creates a report with every default and server-set field", async () => {
  const report = await createReport(api);
  expect(report).toEqual({
    id: expect.any(String),
    meta: {
      name: "r",
      description: null,
      tags: [],
      owner: "ann",
      created: AN_INSTANT,
      last_update: AN_INSTANT,
    },
    access: { public: false, org: false },
    groups: [],
  });
  expect((await api.send({ path: `/reports/${report.id}/` })).body).toEqual(report);
});

it("fills in rows and the default location, and replaces groups", async () => {
  const { id } = await createCall(api);
  const groups = [{ name: "empty" }, { name: "full", rows: [row(id, ""), row(id, "far")] }];
  const filled = [
    { name: "empty", rows: [] },
    { name: "full", rows: [row(id, "local"), row(id, "far")] },
  ];
  const report = await createReport(api, { groups });
  expect(report["groups"]).toEqual(filled);
  const path = `/reports/${report.id}/`;
  const change = async (body: object): Promise<unknown> =>
    (await api.send({ method: "PUT", path, body })).body["groups"];
  expect(await change({ meta: { description: "d" } })).toEqual(filled);
  expect(await change({ groups: [{ name: "new" }] })).toEqual([{ name: "new", rows: [] }]);
  expect(await change({ groups: [] })).toEqual([]);
});

it("reads the calls of a report in portions: calls may be large", async () => {
  const calls: string[] = [];
  for (let n = 0; n < 120; n += 1) calls.push((await createCall(api)).id);
  const groups = [{ name: "all", rows: calls.map((id) => row(id)) }];
  const statements = vi.spyOn(StatementSync.prototype, "all");
  const report = await createReport(api, { groups });
  const { body } = await api.send({ path: `/reports/${report.id}/` });
  const rows = statements.mock.results.map(({ value }) => (value as unknown[]).length);
  statements.mockRestore();
  expect(body["groups"]).toEqual(groups);
  expect(Math.max(...rows)).toBe(50);
});

it.each<[string, object, string]>([
  ["an id", { id: "x" }, "Additional properties are not allowed ('id' was unexpected)"],
  [
    "an unknown property of a group",
    { groups: [{ name: "g", color: "red" }] },
    "Additional properties are not allowed ('color' was unexpected) in groups[0]",
  ],
  [
    "an unknown property of a row",
    { groups: [{ name: "g", rows: [{ ...row("x"), n: 1 }] }] },
    "Additional properties are not allowed ('n' was unexpected) in groups[0].rows[0]",
  ],
  ["a group without a name", { groups: [{ rows: [] }] }, "'groups[0].name' is a required property"],
  [
    "a row without a call",
    { groups: [{ name: "g", rows: [{ location_id: "local" }] }] },
    "'groups[0].rows[0].call_id' is a required property",
  ],
  [
    "a row without a location",
    { groups: [{ name: "g", rows: [{ call_id: "x" }] }] },
    "'groups[0].rows[0].location_id' is a required property",
  ],
  ["null for its groups", { groups: null }, "groups: null is not of type array"],
  [
    "51 groups",
    { groups: Array.from({ length: 51 }, () => ({ name: "g" })) },
    "groups: 51 items are too many (at most 50)",
  ],
  [
    "501 rows",
    { groups: [{ name: "g", rows: Array(501).fill(row("x")) }] },
    "groups[0].rows: 501 items are too many (at most 500)",
  ],
  [
    "a missing call",
    { groups: [{ name: "g", rows: [row("x")] }] },
    "groups[0].rows[0].call_id: 'x' is not an API Call whose statistics you may see",
  ],
  [
    "neither call nor location",
    { groups: [{ name: "g" }, { name: "h", rows: [row("x", "moon")] }] },
    "groups[1].rows[0].call_id: 'x' is not an API Call whose statistics you may see (and 1 other fault)",
  ],
])("refuses %s, on creation and on change", async (_what, part, error_msg) => {
  const { id } = await createReport(api);
  for (const [path, body] of [
    ["/reports/", { meta: { name: "r" }, ...part }],
    [`/reports/${id}/`, part],
  ] as const) {
    const answer = await api.send({ method: "PUT", path, body });
    expect([answer.status, answer.body]).toEqual([400, { error_msg, error: 400 }]);
  }
});

it("lists the known locations when refusing a row", async () => {
  const { id } = await createCall(api);
  const answer = await api.send({
    method: "POST",
    path: "/reports/",
    body: {
      meta: { name: "r" },
      groups: [{ name: "g", rows: [row(id, "moon")] }],
    },
  });
  expect([answer.status, answer.body["error_msg"]]).toEqual([
    400,
    "groups[0].rows[0].location_id: 'moon' is not one of ['local', 'far']",
  ]);
});

it("shows each reader the rows of calls whose statistics they may see", async () => {
  await using api = await startApi();
  const ann = await api.caller("ann", "org");
  const calls = [
    await createCall(api, {}, ann),
    await createCall(api, { access: { org: true } }, ann),
    await createCall(api, { access: { stats: true } }, ann),
    await createCall(api, { access: { settings: true, results: true } }, ann),
  ];
  const rows = calls.map(({ id }) => row(id));
  const access = { public: true, org: true };
  const report = await createReport(api, { access, groups: [{ name: "g", rows }] }, ann);
  const seen = async (as: Caller): Promise<unknown> => {
    const { body } = await api.send({ path: `/reports/${report.id}/`, as });
    const list = await api.send<List>({ path: "/reports/", as });
    expect(list.body.results).toEqual([body]);
    return body["groups"];
  };
  const shown = (...numbers: number[]) => [{ name: "g", rows: numbers.map((n) => rows[n]) }];
  expect(await seen(ann)).toEqual(shown(0, 1, 2, 3));
  expect(await seen(await api.caller("bob", "org"))).toEqual(shown(1, 2));
  expect(await seen(await api.caller("eve"))).toEqual(shown(2));
});

it("accepts If-Match of a version shown without hidden rows", async () => {
  const bob = await api.caller("bob");
  const call = await createCall(api, { access: { stats: true } }, bob);
  const groups = [{ name: "g", rows: [row(call.id)] }];
  const { id } = await createReport(api, { groups });
  await api.send({
    method: "PUT",
    path: `/calls/${call.id}/`,
    body: { access: { stats: false } },
    as: bob,
  });
  const path = `/reports/${id}/`;
  const shown = await api.send({ path });
  expect(shown.body["groups"]).toEqual([{ name: "g", rows: [] }]);
  const changed = await api.send({
    method: "PUT",
    path,
    headers: { "if-match": String(shown.headers["etag"]) },
    body: { meta: { name: "new" } },
  });
  expect(changed.status).toBe(200);
});

it("keeps the rows that its owner cannot see, until their group is removed", async () => {
  const bob = await api.caller("bob");
  const [own, lent] = [await createCall(api), await createCall(api, {}, bob)];
  const share = (stats: boolean) =>
    api.send({ method: "PUT", path: `/calls/${lent.id}/`, body: { access: { stats } }, as: bob });
  await share(true);
  const rows = [row(own.id), row(lent.id), row(lent.id, "far")];
  const { id } = await createReport(api, {
    groups: [
      { name: "a", rows },
      { name: "b", rows },
    ],
  });
  await share(false);
  const path = `/reports/${id}/`;
  const change = async (groups: unknown): Promise<unknown> => {
    const changed = await api.send({ method: "PUT", path, body: { groups } });
    expect(changed.body["groups"]).toEqual(groups);
    return (await api.store.documents.get("report", id))?.document;
  };
  const hidden = rows.slice(1);
  expect(
    await change([
      { name: "b", rows: [row(own.id)] },
      { name: "new", rows: [] },
    ]),
  ).toMatchObject({
    groups: [
      { name: "b", rows: [row(own.id), ...hidden] },
      { name: "new", rows: [] },
    ],
  });
  expect(await change([{ name: "renamed", rows: [] }])).toMatchObject({
    groups: [{ name: "renamed", rows: hidden }],
  });
  expect(await change([])).toMatchObject({ groups: [] });
});

it("keeps the rows that its owner cannot see in each of several groups with one name", async () => {
  const bob = await api.caller("bob");
  const lent = [await createCall(api, {}, bob), await createCall(api, {}, bob)];
  const share = async (stats: boolean): Promise<void> => {
    for (const { id } of lent)
      await api.send({
        method: "PUT",
        path: `/calls/${id}/`,
        body: { access: { stats } },
        as: bob,
      });
  };
  await share(true);
  const [one, other] = lent.map(({ id }) => row(id));
  const own = row((await createCall(api)).id);
  const groups = [
    { name: "a", rows: [own, one] },
    { name: "a", rows: [other] },
    { name: "a", rows: [] },
  ];
  const { id } = await createReport(api, { groups });
  await share(false);
  const change = async (body: object): Promise<unknown> => {
    await api.send({ method: "PUT", path: `/reports/${id}/`, body });
    return (await api.store.documents.get("report", id))?.document;
  };
  expect(await change({ meta: { name: "new" } })).toMatchObject({ groups });
  const { groups: read } = (await api.send({ path: `/reports/${id}/` })).body;
  expect(read).toMatchObject([{ rows: [own] }, { rows: [] }, { rows: [] }]);
  expect(await change({ groups: read })).toMatchObject({ groups });
  const changed = [{ name: "a", rows: [] }, { name: "b" }];
  expect(await change({ groups: changed })).toMatchObject({
    groups: [
      { name: "a", rows: [one] },
      { name: "b", rows: [other] },
    ],
  });
});

it("loses the rows of a call that is deleted", async () => {
  const [gone, kept] = [await createCall(api), await createCall(api)];
  const rows = [row(gone.id), row(kept.id), row(gone.id, "far")];
  const { id } = await createReport(api, { groups: [{ name: "g", rows }] });
  await api.send({ method: "DELETE", path: `/calls/${gone.id}/` });
  const stored = await api.store.documents.get("report", id);
  expect(stored?.document).toMatchObject({
    groups: [{ name: "g", rows: [row(kept.id)] }],
  });
});

it("keeps the rows of a location that is removed, and gets no new ones", async () => {
  await using api = await startApi();
  const [one, other] = [await createCall(api), await createCall(api)];
  const { id } = await createReport(api, { groups: [{ name: "g", rows: [row(one.id, "far")] }] });
  await api.store.locations.remove("far", Date.now());
  const change = (body: object) => api.send({ method: "PUT", path: `/reports/${id}/`, body });
  expect((await change({ meta: { name: "new" } })).status).toBe(200);
  const groups = [{ name: "h", rows: [row(other.id), row(one.id, "far")] }];
  const moved = await change({ groups });
  expect([moved.status, moved.body["groups"]]).toEqual([200, groups]);
  const refused = await change({ groups: [{ name: "h", rows: [row(other.id, "far")] }] });
  expect([refused.status, refused.body["error_msg"]]).toEqual([
    400,
    "groups[0].rows[0].location_id: 'far' is not one of ['local']",
  ]);
});

it("is deleted", async () => {
  const { id } = await createReport(api);
  const path = `/reports/${id}/`;
  const answer = await api.send({ method: "DELETE", path });
  expect([answer.status, answer.body]).toEqual([200, { status: "OK" }]);
  expect((await api.send({ path })).status).toBe(404);
});
