import { describe, expect, it } from "vitest";
import type { Context } from "../../src/model/context.ts";
import { formatInstant } from "../../src/model/instant.ts";
import type { WorkflowResult } from "../../src/model/result.ts";
import type { PendingRun } from "../../src/store/records.ts";
import { create, createCall, sharedApi, startApi } from "../support/api.ts";
import type { Answer, Caller, List, TestApi } from "../support/api.ts";
import { aWorkflowReport } from "../support/runs.ts";
import { ticksOf } from "./call-runs.ts";

const api = sharedApi();

interface Run {
  readonly workflow_id: string;
  readonly workflow_result_id: string;
  readonly location_id: string;
  readonly context: Readonly<Record<string, unknown>>;
}

interface RunResult {
  readonly id: string;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly counts: Readonly<Record<string, number>>;
  readonly context: Readonly<Record<string, unknown>> | null;
  readonly results: readonly {
    readonly id: string;
    readonly meta: Readonly<Record<string, unknown>>;
  }[];
}

interface WorkflowBody {
  readonly call_ids?: readonly string[];
  readonly access?: Readonly<Record<string, boolean>>;
}

async function createWorkflow(
  of: TestApi,
  { call_ids = [], access = {} }: WorkflowBody = {},
  as?: Caller,
): Promise<string> {
  const body = { meta: { name: "a workflow" }, workflow: { call_ids }, access };
  return (await create(of, "/workflows/", body, as)).id;
}

const run = (
  { send, ann }: TestApi,
  id: string,
  body: unknown = {},
  { path = "/run", as = ann }: { path?: string; as?: Caller } = {},
): Promise<Answer<Run>> => send<Run>({ method: "POST", path: `/workflows/${id}${path}`, body, as });

const resultOf = (
  { send, ann }: TestApi,
  id: string,
  as: Caller = ann,
): Promise<Answer<RunResult>> => send<RunResult>({ path: `/workflows/results/${id}/`, as });

/** Records what an agent would report for the run. */
async function report({ store }: TestApi, runId: string, context?: Context): Promise<void> {
  const pending = await store.pendingRuns.get(runId);
  if (!pending) throw new Error(`no pending run ${runId}`);
  const said = aWorkflowReport(pending);
  await store.results.record([context ? { ...said, context } : said]);
}

describe.each(["/run", "/"])("POST workflows/<id>%s", (path) => {
  it("orders a run of the calls in order", async () => {
    await using api = await startApi();
    const [one, two] = [await createCall(api), await createCall(api)];
    const call_ids = [one.id, two.id, one.id];
    const id = await createWorkflow(api, { call_ids });
    const ticks = await ticksOf(api, "far");
    const body = {
      location_id: "far",
      context: { user: "%%GUID%%" },
      between_calls_delay: 7,
    };
    const answer = await run(api, id, body, { path });
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        workflow_id: id,
        workflow_result_id: expect.any(String),
        location_id: "far",
        context: { USER: "%%GUID%%" },
      },
    ]);
    await expect.poll(() => ticks).toHaveLength(1);
    expect(ticks[0]).toMatchObject({
      result_id: answer.body.workflow_result_id,
      context: { USER: "%%GUID%%" },
      calls: call_ids.map((call_id) => ({ call_id })),
      workflow: {
        workflow_id: id,
        name: "a workflow",
        stop_on_failure: true,
        handle_cookies: false,
        between_calls_delay: 7,
      },
    });
    const ids = ticks[0]?.calls.map(({ result_id }) => result_id);
    expect(new Set(ids).size).toBe(3);
  });

  it.each<[string, unknown, string]>([
    ["an unknown location", { location_id: "moon" }, "location_id: 'moon' is"],
    ["an unknown property", { id: "x" }, "Additional properties are not"],
    ["a delay beyond a day", { between_calls_delay: 86_401 }, "between_calls"],
    ["a list", [], "[] is not of type object"],
  ])("refuses %s", async (_what, body, message) => {
    const id = await createWorkflow(api);
    const answer = await run(api, id, body, { path });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ error: 400 });
    expect(answer.text).toContain(message);
  });
});

it.each([
  { meta: { name: "renamed" } },
  { workflow: { stop_on_failure: false } },
  { access: { public: true } },
])("POST workflows/<id>/ with %j is a change", async (body) => {
  const id = await createWorkflow(api);
  const answer = await run(api, id, body, { path: "/" });
  expect([answer.status, answer.body]).toMatchObject([200, { id, ...body }]);
  const page = { after: "", limit: 10 };
  expect(await api.store.pendingRuns.listOfTarget(id, page)).toEqual([]);
});

it("reports at once that a workflow without calls cannot run", async () => {
  const id = await createWorkflow(api);
  const { body } = await run(api, id);
  expect((await resultOf(api, body.workflow_result_id)).body).toMatchObject({
    meta: {
      result: "UNABLE_TO_RUN",
      result_category: null,
      message: "the workflow has no calls",
    },
    results: [],
  });
});

it("waits for the end of the run on request", async () => {
  await using api = await startApi();
  const { id: call } = await createCall(api);
  const id = await createWorkflow(api, { call_ids: [call] });
  await api.bus.consumeTicks("local", async ([tick]) => {
    await report(api, tick?.result_id ?? "");
  });
  const { body } = await run(api, id, {}, { path: "/run?wait=10" });
  const outcome = await api.store.workflowResults.get(body.workflow_result_id);
  expect(outcome?.meta.result).toBe("COMPLETE");
});

describe("the result of a workflow", () => {
  it("is QUEUED until the run ends, then has the results of its calls", async () => {
    const { id: call } = await createCall(api);
    const id = await createWorkflow(api, { call_ids: [call, call] });
    const { body } = await run(api, id);
    const runId = body.workflow_result_id;
    const before = await resultOf(api, runId);
    expect(before.body).toMatchObject({
      id: runId,
      meta: { workflow_id: id, name: "a workflow", result: "QUEUED" },
      results: [],
    });
    await report(api, runId);
    const after = await resultOf(api, runId);
    expect(after.body).toMatchObject({
      id: runId,
      meta: { workflow_id: id, result: "COMPLETE", result_category: "PASS" },
      counts: { calls: 2, passed: 2 },
      results: [0, 1].map(() => ({
        meta: { call_id: call, workflow_id: id, workflow_result_id: runId },
      })),
    });
    const [step] = after.body.results;
    expect(step).not.toHaveProperty("request");
    const single = await api.send({ path: `/results/${step?.id}/` });
    expect([single.status, single.body]).toMatchObject([200, { id: step?.id }]);
  });

  it("is listed in creation order, page by page", async () => {
    const { id: call } = await createCall(api);
    const id = await createWorkflow(api, { call_ids: [call] });
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) ids.push((await run(api, id)).body.workflow_result_id);
    await report(api, ids[1] as string);
    const list = (query: string) =>
      api.send<List<RunResult>>({ path: `/workflows/${id}/results/${query}` });
    const first = await list("?limit=2");
    const rest = await list(`?cursor=${first.body.meta.next_cursor}`);
    expect(
      [...first.body.results, ...rest.body.results].map((each) => [each.id, each.meta["result"]]),
    ).toEqual([
      [ids[0], "QUEUED"],
      [ids[1], "COMPLETE"],
      [ids[2], "QUEUED"],
    ]);
    expect(rest.body.meta).toEqual({ more: false, next_cursor: "" });
  });

  it("requires access to the workflow, and to each call for its result", async () => {
    const bob = await api.caller("bob");
    const hidden = await createCall(api);
    const open = await createCall(api, { access: { results: true } });
    const call_ids = [hidden.id, open.id];
    const closed = await createWorkflow(api, { call_ids });
    const shared = await createWorkflow(api, {
      call_ids,
      access: { public: true },
    });
    const runs: string[] = [];
    for (const id of [closed, shared]) {
      const { body } = await run(api, id);
      await report(api, body.workflow_result_id);
      runs.push(body.workflow_result_id);
    }
    const [ofClosed = "", ofShared = ""] = runs;
    expect((await resultOf(api, ofClosed, bob)).status).toBe(404);
    const path = `/workflows/${closed}/results/`;
    expect((await api.send({ path, as: bob })).status).toBe(404);
    const { body } = await resultOf(api, ofShared, bob);
    expect(body.counts).toMatchObject({ calls: 2 });
    expect(body.results.map(({ meta }) => meta["call_id"])).toEqual([open.id]);
    expect((await resultOf(api, ofShared)).body.results).toHaveLength(2);
  });

  it("repeats the message of a call only to those who may read the call's results", async () => {
    const bob = await api.caller("bob");
    const hidden = await createCall(api);
    const open = await createCall(api, { access: { results: true } });
    const call_ids = [hidden.id, open.id];
    const id = await createWorkflow(api, { call_ids, access: { public: true } });
    const ended = (call: number): string => `call ${call} of 2 ended with CONNECTION_ERROR`;
    for (const call of [1, 2]) {
      const { body } = await run(api, id);
      const pending = await api.store.pendingRuns.get(body.workflow_result_id);
      const said = aWorkflowReport(pending as PendingRun);
      const workflow = said.workflow as WorkflowResult;
      const meta = { ...workflow.meta, message: `${ended(call)}: connect_refused: 10.0.0.7:80` };
      await api.store.results.record([{ ...said, workflow: { ...workflow, meta } }]);
    }
    const messages = async (as: Caller): Promise<unknown[]> => {
      const path = `/workflows/${id}/results/`;
      const { results } = (await api.send<List<RunResult>>({ path, as })).body;
      const single = await Promise.all(results.map((one) => resultOf(api, one.id, as)));
      const listed = results.map(({ meta }) => meta["message"]);
      expect(single.map(({ body }) => body.meta["message"])).toEqual(listed);
      return listed;
    };
    const whole = `${ended(2)}: connect_refused: 10.0.0.7:80`;
    expect(await messages(bob)).toEqual([ended(1), whole]);
    expect(await messages(api.ann)).toEqual([`${ended(1)}: connect_refused: 10.0.0.7:80`, whole]);
  });

  it("shows the context of the run to those who may run the workflow", async () => {
    const colleague = await api.caller("carl", "shop");
    const owner = await api.caller("olga", "shop");
    const reader = await api.caller("olga", "shop", "VIEWER");
    const stranger = await api.caller("bob");
    const access = { public: true, org: true };
    const id = await createWorkflow(api, { access }, owner);
    const { id: call } = await createCall(api, {}, owner);
    const contextFor = async (runId: string, as: Caller) =>
      (await resultOf(api, runId, as)).body.context;
    await api.send({
      method: "PUT",
      path: `/workflows/${id}/`,
      body: { workflow: { call_ids: [call] } },
      as: owner,
    });
    const { body } = await run(api, id, { context: { user: "ann" } }, { as: owner });
    const runId = body.workflow_result_id;
    expect(await contextFor(runId, owner)).toBeNull();
    await report(api, runId, { USER: "ann" });
    expect(await contextFor(runId, owner)).toEqual({ USER: "ann" });
    expect(await contextFor(runId, reader)).toEqual({ USER: "ann" });
    expect(await contextFor(runId, colleague)).toEqual({ USER: "ann" });
    expect(await contextFor(runId, stranger)).toBeNull();
  });

  it("is not found as the result of a call, nor the other way round", async () => {
    const { id: call } = await createCall(api);
    const id = await createWorkflow(api, { call_ids: [call] });
    const { body } = await run(api, id);
    const single = await api.send<{ result_id: string }>({
      method: "POST",
      path: `/calls/${call}/run`,
    });
    const wrong = await resultOf(api, single.body.result_id);
    expect(wrong.status).toBe(404);
    const path = `/results/${body.workflow_result_id}/`;
    expect((await api.send({ path })).status).toBe(404);
  });
});

it("stores the target kind and the delay between calls of a deployment", async () => {
  const id = await createWorkflow(api);
  const { status } = await api.send({
    method: "POST",
    path: "/deployments/",
    body: {
      deployment: {
        target_id: id,
        location_id: "local",
        frequency: 5,
        between_calls_delay: 3,
      },
    },
  });
  expect(status).toBe(201);
  expect(await api.store.schedules.listNew()).toMatchObject([
    { target_id: id, target_kind: "workflow", between_calls_delay: 3 },
  ]);
});

it("shows when a run was due", async () => {
  const { id: call } = await createCall(api);
  const id = await createWorkflow(api, { call_ids: [call] });
  const { body } = await run(api, id, { run_delay: 600 });
  const pending = await api.store.pendingRuns.get(body.workflow_result_id);
  const { body: shown } = await resultOf(api, body.workflow_result_id);
  expect(shown.meta["due_time"]).toBe(formatInstant(pending?.due_time ?? 0));
});
