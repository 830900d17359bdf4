import { sql } from "kysely";
import { expect, it } from "vitest";
import { unavailable } from "../../src/model/errors.ts";
import { createCall, sharedApi, startApi } from "../support/api.ts";
import type { Created, List, Sent, TestApi } from "../support/api.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { T0 } from "../support/runs.ts";
import { connect } from "../support/stores.ts";

const api = sharedApi();

const BODY = {
  meta: { name: "a call" },
  request: { method: "GET", url: "https://target.test/" },
};
const post = (key: string, change: Partial<Sent> = {}): Sent => ({
  method: "POST",
  path: "/calls/",
  body: BODY,
  headers: { "idempotency-key": key },
  ...change,
});

const callCount = async ({ send }: TestApi): Promise<number> =>
  (await send<List>({ path: "/calls/" })).body.results.length;

it("creates once, and repeats the answer", async () => {
  const first = await api.send(post("k1"));
  const reordered = { request: BODY.request, meta: BODY.meta };
  const repeated = [
    await api.send(post("k1")),
    await api.send(post("k1", { body: reordered })),
    await api.send(post("k1", { path: "/calls" })),
  ];
  expect(first.status).toBe(201);
  for (const answer of repeated)
    expect([answer.status, answer.text, answer.headers["etag"]]).toEqual([
      201,
      first.text,
      first.headers["etag"],
    ]);
  expect(await callCount(api)).toBe(1);
  expect(await api.store.audit.list({ limit: 10 })).toHaveLength(1);
});

it("refuses the same key with another body, naming it", async () => {
  await api.send(post("k1"));
  const body = { ...BODY, meta: { name: "another" } };
  const answer = await api.send(post("k1", { body }));
  expect([answer.status, answer.body]).toEqual([
    400,
    {
      error_msg: "Idempotency-Key: 'k1' was used with another body",
      error: 400,
    },
  ]);
  expect(await callCount(api)).toBe(1);
});

it("distinguishes callers, keys, methods and paths", async () => {
  const bob = await api.caller("bob");
  const answers = [
    await api.send<Created>(post("k1")),
    await api.send<Created>(post("k2")),
    await api.send<Created>(post("k1", { as: bob })),
    await api.send<Created>(post("k1", { method: "PUT" })),
  ];
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(4);
  const ids = answers.slice(0, 2).map(({ body }) => body.id);
  const changes = await Promise.all(
    ids.map((id) => api.send(post("k1", { path: `/calls/${id}/`, body: { meta: { name: "n" } } }))),
  );
  expect(changes.map(({ body }) => body["id"])).toEqual(ids);
});

it("carries out concurrent requests once", async () => {
  await using api = await startApi();
  const answers = await Promise.all(Array.from({ length: 10 }, () => api.send(post("k1"))));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(await callCount(api)).toBe(1);
});

it("runs once", async () => {
  const { id } = await createCall(api);
  const run = post("k1", {
    path: `/calls/${id}/run`,
    body: { context: { a: 1 } },
  });
  const [first, second] = [await api.send(run), await api.send(run)];
  expect([first.status, second.text]).toEqual([200, first.text]);
  const runs = await api.store.pendingRuns.listOfTarget(id, {
    after: "",
    limit: 9,
  });
  expect(runs.map(({ result_id }) => result_id)).toEqual([first.body["result_id"]]);
  const other = await api.send({ ...run, body: {} });
  expect(other.status).toBe(400);
});

it("never repeats the answer of a run that was dropped because the bus was full", async () => {
  await using api = await startApi();
  const { id } = await createCall(api);
  {
    await using raw = connect(api.database).kysely;
    await sql`create trigger answered before delete on pending_runs
      when exists (select 1 from kept_answers)
      begin select raise(abort, 'the answer is still kept'); end`.execute(raw);
  }
  const usual = { ...api.bus };
  const full = () => Promise.reject(unavailable("the bus is full", { full: true }));
  const run = post("k1", { path: `/calls/${id}/run`, body: {} });
  Object.assign(api.bus, { publishTicks: full });
  expect((await api.send(run)).status).toBe(503);
  const everything = { after: "", limit: 9 };
  expect(await api.store.pendingRuns.listOfTarget(id, everything)).toEqual([]);
  expect(await api.store.results.listOfCall(id, everything)).toEqual([]);
  Object.assign(api.bus, usual);
  expect((await api.send(run)).status).toBe(200);
});

it("repeats the answer of a run even if its call is gone by then", async () => {
  const { id } = await createCall(api);
  const run = post("k1", { path: `/calls/${id}/run`, body: {} });
  const first = await api.send(run);
  await api.send({ method: "DELETE", path: `/calls/${id}/` });
  const second = await api.send(run);
  expect([second.status, second.text]).toEqual([200, first.text]);
});

it("repeats an issued key only to the caller who repeats the request", async () => {
  const issue = post("k1", { path: "/api_keys/", body: {} });
  const [first, second] = [await api.send(issue), await api.send(issue)];
  expect([second.status, second.text]).toEqual([201, first.text]);
  expect(first.body["api_key"]).toMatch(/^[A-Za-z0-9]{32}$/);
  const other = await api.send({ ...issue, as: await api.caller("ann") });
  expect(other.body["api_key"]).not.toBe(first.body["api_key"]);
});

it("keeps no answer of a refused request", async () => {
  const refused = await api.send(post("k1", { body: {} }));
  const carriedOut = await api.send(post("k1"));
  expect([refused.status, carriedOut.status]).toEqual([400, 201]);
});

it("drops answers after 24 hours", async () => {
  const clock = createManualClock(T0);
  await using api = await startApi({ clock });
  const first = await api.send(post("k1"));
  await clock.advance(24 * 3_600_000);
  expect((await api.send(post("k1"))).text).toBe(first.text);
  await clock.advance(1);
  const again = await api.send(post("k1"));
  expect(again.status).toBe(201);
  expect(again.body["id"]).not.toBe(first.body["id"]);
});

it.each([
  ["nothing", ""],
  ["256 characters", "k".repeat(256)],
  ["a space", "a b"],
  ["two of them", "a, b"],
  ["non-ASCII characters", "k\u00e9"],
])("refuses a key of %s", async (_, key) => {
  await using api = await startApi();
  const { status, body } = await api.send(post(key));
  expect(status).toBe(400);
  expect(body["error_msg"]).toMatch(
    /^Idempotency-Key: .* is not 1 to 255 visible ASCII characters$/,
  );
  expect(await callCount(api)).toBe(0);
});

it("accepts a key of 255 characters, and an absent one", async () => {
  await using api = await startApi();
  const answers = [
    await api.send(post("k".repeat(255))),
    await api.send(post("", { headers: {} })),
    await api.send(post("", { headers: {} })),
  ];
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
  expect(await callCount(api)).toBe(3);
});
