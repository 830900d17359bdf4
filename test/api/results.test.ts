import { describe, expect, it } from "vitest";
import { ResultSchema } from "../../src/model/result.ts";
import { createValidator } from "../../src/model/validate.ts";
import { newId } from "../../src/runtime/ids.ts";
import { createCall, sharedApi } from "../support/api.ts";
import type { Json, List, TestApi } from "../support/api.ts";
import { aReport, aRun } from "../support/runs.ts";

const api = sharedApi();

async function order(api: TestApi, callId: string): Promise<string> {
  const { body } = await api.send<{ result_id: string }>({
    method: "POST",
    path: `/calls/${callId}/run`,
    body: { location_id: "far" },
  });
  return body.result_id;
}

async function finish({ store }: TestApi, resultId: string): Promise<void> {
  const run = await store.pendingRuns.get(resultId);
  if (!run) throw new Error(`${resultId} is not pending`);
  await store.results.record([aReport(run)]);
}

it("shows a run without an outcome as QUEUED, in the full shape of a result", async () => {
  const call = await createCall(api);
  const id = await order(api, call.id);
  const { status, body } = await api.send({ path: `/results/${id}/` });
  expect(status).toBe(200);
  expect(createValidator(ResultSchema).faults(body)).toEqual([]);
  expect(body).toMatchObject({
    id,
    meta: {
      call_id: call.id,
      location_id: "far",
      agent_id: null,
      trigger: "MANUAL",
      start_time: null,
      result: "QUEUED",
      result_category: null,
      domain: "target.test",
      url: "https://target.test/path",
      http_code: null,
    },
    timing: { total: null },
    request: { url: "https://target.test/path", method: "GET", headers: [], body: null },
    response: null,
    hops: [],
  });
});

it("masks the credentials in the URL of a run without an outcome", async () => {
  const url = "https://target.test/?api_key=hush&q=shown";
  const call = await createCall(api, { request: { method: "get", url } });
  const shown = "https://target.test/?api_key=********&q=shown";
  const id = await order(api, call.id);
  const one = await api.send({ path: `/results/${id}/` });
  expect(one.body).toMatchObject({ meta: { result: "QUEUED", url: shown } });
  const list = await api.send({ path: `/calls/${call.id}/results/` });
  expect(list.body).toMatchObject({ results: [{ meta: { url: shown } }] });
});

it("shows the outcome when it arrives", async () => {
  const call = await createCall(api);
  const id = await order(api, call.id);
  await finish(api, id);
  const { body } = await api.send({ path: `/results/${id}` });
  expect(body).toEqual(await api.store.results.get(id));
  expect(body["meta"]?.["result"]).toBe("COMPLETE");
});

it.each(["/calls/:id/results/", "/results/call/:id/"])(
  "lists outcomes and waiting runs in creation order at %s, without the requests",
  async (path) => {
    const call = await createCall(api);
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push(await order(api, call.id));
    for (const id of ids.filter((_, n) => n % 2 === 0)) await finish(api, id);
    const url = path.replace(":id", call.id);
    const first = await api.send<List<Json & { readonly id: string }>>({
      path: `${url}?limit=3`,
    });
    const rest = await api.send<List<Json & { readonly id: string }>>({
      path: `${url}?limit=3&cursor=${first.body.meta.next_cursor}`,
    });
    const items = [...first.body.results, ...rest.body.results];
    expect(items.map(({ id }) => id)).toEqual(ids);
    expect(items.map((item) => item["meta"]?.["result"])).toEqual([
      "COMPLETE",
      "QUEUED",
      "COMPLETE",
      "QUEUED",
      "COMPLETE",
    ]);
    expect(items.filter((item) => "request" in item)).toEqual([]);
    expect([first.body.meta.more, rest.body.meta.more]).toEqual([true, false]);
  },
);

it("accepts a cursor of one path at the other", async () => {
  const call = await createCall(api);
  for (let n = 0; n < 2; n += 1) await order(api, call.id);
  const first = await api.send<List>({
    path: `/calls/${call.id}/results/?limit=1`,
  });
  const { next_cursor } = first.body.meta;
  const rest = await api.send<List>({
    path: `/results/call/${call.id}?cursor=${next_cursor}`,
  });
  expect(rest.body.results).toHaveLength(1);
});

it("answers 404 for a missing result, and for results of a deleted call", async () => {
  const run = aRun({ result_id: newId(Date.now()), target_id: "gone" });
  await api.store.pendingRuns.insert([run]);
  for (const id of ["none", run.result_id]) {
    const { status, body } = await api.send({ path: `/results/${id}/` });
    expect([status, body]).toEqual([404, { error_msg: "Result not found", error: 404 }]);
  }
});

it.each([
  ["order=up", "order: 'up' is not one of ['asc', 'desc']"],
  ["category=BAD", "category: 'BAD' is not one of ['PASS', 'WARNING', 'FAIL', 'NONE']"],
  ["location_id=moon", "location_id: 'moon' is not one of ['local', 'far']"],
  ["from=yesterday", "from: 'yesterday' is not an ISO 8601 date or date-time"],
  [
    "from=2026-10-02&to=2026-10-01",
    "from: '2026-10-02T00:00:00.000000Z' is later than to: '2026-10-01T00:00:00.000000Z'",
  ],
  [
    "from=9999-12-31T23:59:59.9999Z&to=2026-10-01",
    "from: '9999-12-31T23:59:59.999000Z' is later than to: '2026-10-01T00:00:00.000000Z'",
  ],
])("refuses a list with %s", async (query, error_msg) => {
  const { id } = await createCall(api);
  const answer = await api.send({ path: `/calls/${id}/results/?${query}` });
  expect([answer.status, answer.body]).toEqual([400, { error_msg, error: 400 }]);
});

it("names every type when refusing an unknown one", async () => {
  const { id } = await createCall(api);
  const { status, body } = await api.send({ path: `/calls/${id}/results/?type=GOOD` });
  expect(status).toBe(400);
  expect(body["error_msg"]).toMatch(
    /^type: 'GOOD' is not one of \['ALL', 'COMPLETE', .*'QUEUED', .*'SLA_ERROR'\]$/,
  );
});

describe("the body of a response", () => {
  const content = {
    content_type: "text/html",
    encoding: "utf-8",
    size: 27,
    content: "<script>alert('')</script>",
    reason: null,
  };

  async function recordWith(api: TestApi, id: string): Promise<void> {
    const run = await api.store.pendingRuns.get(id);
    if (!run) throw new Error(`${id} is not pending`);
    const report = aReport(run);
    const results = report.results.map((result) => ({ ...result, content }));
    await api.store.results.record([{ ...report, results }]);
  }

  it.each(["content", "content/"])(
    "is answered at %s as JSON, which no browser runs",
    async (end) => {
      const id = await order(api, (await createCall(api)).id);
      await recordWith(api, id);
      const answer = await api.send({ path: `/results/${id}/${end}` });
      expect([answer.status, answer.body]).toEqual([200, content]);
      expect(answer.headers["content-type"]).toMatch(/^application\/json/);
    },
  );

  it("is in no other answer", async () => {
    const call = await createCall(api);
    const id = await order(api, call.id);
    await recordWith(api, id);
    for (const path of [`/results/${id}/`, `/calls/${call.id}/results/`]) {
      const { status, body } = await api.send({ path });
      expect(status).toBe(200);
      expect(JSON.stringify(body)).not.toContain("script");
    }
  });

  it("is not found where none is kept", async () => {
    const id = await order(api, (await createCall(api)).id);
    const queued = await api.send({ path: `/results/${id}/content` });
    await finish(api, id);
    const finished = await api.send({ path: `/results/${id}/content` });
    const missing = await api.send({ path: `/results/${newId(Date.now())}/content` });
    expect([queued.body, finished.body, missing.body]).toEqual([
      { error_msg: "Content not found", error: 404 },
      { error_msg: "Content not found", error: 404 },
      { error_msg: "Result not found", error: 404 },
    ]);
  });
});
