import { expect, it } from "vitest";
import { createCall, sharedApi, startApi } from "../support/api.ts";
import type { Answer, TestApi } from "../support/api.ts";
import { aReport, aRun } from "../support/runs.ts";
import { ticksOf } from "./call-runs.ts";

const api = sharedApi();

interface Run {
  readonly call_id: string;
  readonly result_id: string;
  readonly location_id: string;
  readonly context: Readonly<Record<string, unknown>>;
}

const run = ({ send }: TestApi, id: string, body: unknown = {}, query = ""): Promise<Answer<Run>> =>
  send<Run>({ method: "POST", path: `/calls/${id}/run${query}`, body });

it("orders a run and hands it to the agents of its location", async () => {
  const { id } = await createCall(api);
  const ticks = await ticksOf(api, "far");
  const { status, body } = await run(api, id, {
    location_id: "far",
    context: { user: "%%GUID%%", Count: 3 },
  });
  expect([status, body]).toEqual([
    200,
    {
      call_id: id,
      result_id: expect.any(String),
      location_id: "far",
      context: { USER: "%%GUID%%", COUNT: 3 },
    },
  ]);
  await expect.poll(() => ticks).toHaveLength(1);
  expect(ticks[0]).toMatchObject({
    result_id: body.result_id,
    trigger: "MANUAL",
    deployment_id: null,
    location_id: "far",
    context: { USER: "%%GUID%%", COUNT: 3 },
    calls: [{ call_id: id, result_id: body.result_id }],
  });
});

it("keeps numbers that are exact", async () => {
  const { id } = await createCall(api);
  const context = { A: Number.MAX_SAFE_INTEGER, B: [-0.5, { c: 1e-7 }], D: null };
  const answer = await run(api, id, { context });
  expect([answer.status, answer.body.context]).toEqual([200, context]);
});

it.each([undefined, {}, { location_id: "" }])(
  "runs at the default location with a body of %o",
  async (body) => {
    const { id } = await createCall(api);
    const answer = await run(api, id, body);
    expect(answer.body).toMatchObject({ location_id: "local", context: {} });
  },
);

it("is due after the delay", async () => {
  const { id } = await createCall(api);
  const { body } = await run(api, id, { run_delay: 3600 });
  const pending = await api.store.pendingRuns.get(body.result_id);
  expect(pending).toMatchObject({ target_id: id, owner: "ann" });
  expect((pending?.due_time ?? 0) - (pending?.trigger_time ?? 0)).toBe(3_600_000);
});

it.each<[string, unknown, string, string]>([
  [
    "an unknown location",
    { location_id: "moon" },
    "",
    "location_id: 'moon' is not one of ['local', 'far']",
  ],
  [
    "an unknown property",
    { id: "x" },
    "",
    "Additional properties are not allowed ('id' was unexpected)",
  ],
  [
    "an integer that would be rounded",
    '{"context": {"user": "ann", "id": 12345678901234567890}}',
    "",
    "context: 'id' has a number that cannot be kept exactly; send it as a string",
  ],
  [
    "a nested number that would be infinite",
    '{"context": {"order": {"items": [1, {"n": -1e400}]}}}',
    "",
    "context: 'order' has a number that cannot be kept exactly; send it as a string",
  ],
  [
    "a context that is such a number",
    '{"context": 12345678901234567890}',
    "",
    "context: 12345678901234567000 is not of type object",
  ],
  [
    "two names of one variable",
    { context: { token: "one", other: "", TOKEN: "two" } },
    "",
    "context: 'token' and 'TOKEN' are the same variable",
  ],
  ["no context", { context: null }, "", "context: null is not of type object"],
  ["a context that is a list", { context: [] }, "", "context: [] is not of type object"],
  [
    "a delay beyond a day",
    { run_delay: 86_401 },
    "",
    "run_delay: 86401 is greater than the maximum of 86400",
  ],
  ["a wait beyond a minute", {}, "?wait=61", "wait: '61' is not an integer from 0 to 60"],
])("refuses %s", async (_what, body, query, error_msg) => {
  const { id } = await createCall(api);
  const answer = await run(api, id, body, query);
  expect([answer.status, answer.body]).toEqual([400, { error_msg, error: 400 }]);
  const page = { after: "", limit: 10 };
  expect(await api.store.pendingRuns.listOfTarget(id, page)).toEqual([]);
});

it("answers 503 while the bus is unavailable, and keeps the outcome of a run that it accepted", async () => {
  await using api = await startApi();
  const { id } = await createCall(api);
  await api.bus.close();
  const answer = await run(api, id);
  expect([answer.status, answer.body]).toEqual([
    503,
    {
      error_msg: "the bus is unavailable; try again in 5 s",
      error: 503,
    },
  ]);
  expect(answer.headers["retry-after"]).toBe("5");
  const page = { after: "", limit: 10 };
  expect(await api.store.pendingRuns.listOfTarget(id, page)).toEqual([]);
  const metaNow = async () =>
    (await api.store.results.listOfCall(id, page)).map(({ meta }) => meta);
  expect(await metaNow()).toMatchObject([
    {
      result: "MISSED",
      message: "hub_unreachable: the bus did not confirm the run",
    },
  ]);
  const [missed] = await api.store.results.listOfCall(id, page);
  const due_time = Date.parse(missed?.meta.due_time ?? "");
  const taken = aReport(aRun({ result_id: missed?.id ?? "", target_id: id, due_time }));
  expect(await api.store.results.record([taken])).toMatchObject({ recorded: 1, unknown: 0 });
  expect(await metaNow()).toMatchObject([{ result: "COMPLETE" }]);
});

it("waits for the end of the run on request", async () => {
  await using api = await startApi();
  const { id } = await createCall(api);
  await api.bus.consumeTicks("local", async (ticks) => {
    for (const { result_id } of ticks) {
      const pending = await api.store.pendingRuns.get(result_id);
      if (pending) await api.store.results.record([aReport(pending)]);
    }
  });
  const { body } = await run(api, id, {}, "?wait=10");
  const result = await api.store.results.get(body.result_id);
  expect(result?.meta.result).toBe("COMPLETE");
});

it("answers when the wait is over, even if the run continues", async () => {
  const { id } = await createCall(api);
  const began = performance.now();
  const { status } = await run(api, id, {}, "?wait=1");
  expect(status).toBe(200);
  expect(performance.now() - began).toBeGreaterThanOrEqual(990);
});
