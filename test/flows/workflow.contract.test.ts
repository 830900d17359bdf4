// From a workflow's definition to its results, through every role.
import { expect, it } from "vitest";
import { startStack } from "../support/stack.ts";
import type { Stack } from "../support/stack.ts";
import { startTarget } from "../support/target-server.ts";
import { until } from "../support/until.ts";

const SECOND = 1000;
const NOON = Date.UTC(2026, 9, 1, 12, 0, 0);
const START = NOON + 30 * SECOND;

interface WorkflowRun {
  readonly id: string;
  readonly meta: {
    readonly result: string;
    readonly message: string | null;
    readonly due_time: string;
  };
  readonly counts: Readonly<Record<string, number>>;
  readonly results: readonly {
    readonly id: string;
    readonly meta: { readonly result: string; readonly call_id: string };
  }[];
}

async function createWorkflow({ client }: Stack, workflow: object): Promise<string> {
  const { id } = await client.send<{ id: string }>("POST", "/workflows/", {
    meta: { name: "a workflow" },
    workflow,
  });
  return id;
}

const runsOf = async ({ client }: Stack, workflowId: string): Promise<readonly WorkflowRun[]> => {
  const { results } = await client.send<{ results: WorkflowRun[] }>(
    "GET",
    `/workflows/${workflowId}/results/`,
  );
  return Promise.all(
    results.map(({ id }) => client.send<WorkflowRun>("GET", `/workflows/results/${id}/`)),
  );
};

const ended = (stack: Stack, id: string): Promise<readonly WorkflowRun[]> =>
  until(async () => {
    const runs = await runsOf(stack, id);
    expect(runs.map(({ meta }) => meta.result)).not.toContain("QUEUED");
    expect(runs.length).toBeGreaterThan(0);
    return runs;
  });

it("runs a deployed workflow in its slot, carries cookies between calls and counts them", async () => {
  await using target = await startTarget((request, response) => {
    if (request.url === "/login") response.setHeader("set-cookie", "session=abc; Path=/");
    else if (request.headers.cookie !== "session=abc") response.statusCode = 401;
    response.end("ok");
  });
  await using stack = await startStack({
    now: START,
    egressAllow: [target.authority],
  });
  const login = await stack.client.createCall(`${target.url}/login`);
  const home = await stack.client.createCall(`${target.url}/home`);
  const id = await createWorkflow(stack, {
    call_ids: [login, home, home],
    handle_cookies: true,
  });
  await stack.client.deploy(id);
  stack.clock.moveTo(NOON + 50 * SECOND);
  await stack.beat();
  stack.clock.moveTo(NOON + 60 * SECOND);
  const [run] = await ended(stack, id);
  expect(run).toMatchObject({
    meta: {
      result: "COMPLETE",
      due_time: "2026-10-01T12:01:00.000000Z",
      message: null,
    },
    counts: { calls: 3, passed: 3 },
    results: [login, home, home].map((call_id) => ({
      meta: { call_id, result: "COMPLETE" },
    })),
  });
  expect(await stack.client.stat(home, "kind=HOUR")).toMatchObject({
    count: 2,
  });
  expect(await stack.client.stat(login, "kind=HOUR")).toMatchObject({
    count: 1,
  });
});

it("stops a manual workflow run at the failing call and records the rest as skipped", async () => {
  await using target = await startTarget((request, response) => {
    response.statusCode = request.url === "/bad" ? 500 : 200;
    response.end();
  });
  await using stack = await startStack({
    now: START,
    egressAllow: [target.authority],
  });
  const good = await stack.client.createCall(`${target.url}/good`);
  const bad = await stack.client.createCall(`${target.url}/bad`);
  const id = await createWorkflow(stack, { call_ids: [good, bad, good] });
  const context = { user: "ann", token: "hidden" };
  await stack.client.send("POST", `/workflows/${id}/?wait=10`, { context });
  const [run] = await ended(stack, id);
  expect(run?.results.map(({ meta }) => meta.result)).toEqual([
    "COMPLETE",
    "HTTP_SERVER_ERROR",
    "SKIPPED",
  ]);
  expect(run).toMatchObject({
    meta: { result: "HTTP_SERVER_ERROR" },
    counts: { calls: 3, passed: 1, failed: 1, not_made: 1 },
    context: { USER: "ann", TOKEN: "********" },
  });
  expect(target.requests.map(({ url }) => url)).toEqual(["/good", "/bad"]);
  expect(await stack.client.stat(good, "kind=HOUR")).toMatchObject({
    count: 1,
  });
});
