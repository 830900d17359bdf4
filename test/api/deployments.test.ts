import { expect, it } from "vitest";
import type { PendingRun } from "../../src/store/records.ts";
import { AN_INSTANT, create, createCall, sharedApi, startApi } from "../support/api.ts";
import type { Answer, Caller, List, TestApi } from "../support/api.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { aRun } from "../support/runs.ts";

const api = sharedApi();

const FREQUENCIES =
  "[1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60, 120, 180, 240, 360, 480, 720, 1440]";

interface DeploymentAnswer {
  readonly id: string;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly deployment: Readonly<Record<string, unknown>>;
}

async function deploy(
  { send }: TestApi,
  deployment: Readonly<Record<string, unknown>>,
): Promise<Answer<DeploymentAnswer>> {
  const body = {
    deployment: { location_id: "local", frequency: 5, ...deployment },
  };
  return send<DeploymentAnswer>({
    method: "POST",
    path: "/deployments/",
    body,
  });
}

const schedulesOf = async ({ store }: TestApi) =>
  (await store.schedules.listNew()).map(
    ({ deployment_id, target_id, location_id, frequency, run_delay, owner }) => ({
      deployment_id,
      target_id,
      location_id,
      frequency,
      run_delay,
      owner,
    }),
  );

it("creates a deployment and its schedule, which starts after the creation", async () => {
  const { id } = await createCall(api);
  const before = Date.now();
  const { status, body } = await deploy(api, { target_id: id });
  expect([status, body]).toEqual([
    201,
    {
      id: expect.any(String),
      meta: { owner: "ann", created: AN_INSTANT, last_update: AN_INSTANT },
      deployment: {
        target_id: id,
        location_id: "local",
        frequency: 5,
        run_delay: 0,
        between_calls_delay: 0,
      },
    },
  ]);
  expect(await schedulesOf(api)).toEqual([
    {
      deployment_id: body.id,
      target_id: id,
      location_id: "local",
      frequency: 5,
      run_delay: 0,
      owner: "ann",
    },
  ]);
  const [schedule] = await api.store.schedules.listNew();
  const created = Date.parse(String(body.meta["created"]));
  expect(created).toBeGreaterThanOrEqual(before);
  expect(schedule?.active_from).toBe(created + 1);
});

it("defaults to the oldest location", async () => {
  const { id } = await createCall(api);
  const { body } = await deploy(api, { target_id: id, location_id: "" });
  expect(body.deployment["location_id"]).toBe("local");
});

it.each<[string, Record<string, unknown>, string]>([
  ["a frequency of 7", { frequency: 7 }, `deployment.frequency: 7 is not one of ${FREQUENCIES}`],
  ["a frequency of 0", { frequency: 0 }, `deployment.frequency: 0 is not one of ${FREQUENCIES}`],
  [
    "a frequency below 0",
    { frequency: -1 },
    `deployment.frequency: -1 is not one of ${FREQUENCIES}`,
  ],
  [
    "a frequency of 1.5",
    { frequency: 1.5 },
    `deployment.frequency: 1.5 is not one of ${FREQUENCIES}`,
  ],
  [
    "a frequency in quotes",
    { frequency: "5" },
    `deployment.frequency: '5' is not one of ${FREQUENCIES}`,
  ],
  [
    "a frequency beyond a day",
    { frequency: 1441 },
    `deployment.frequency: 1441 is not one of ${FREQUENCIES}`,
  ],
  ["no frequency", { frequency: null }, `deployment.frequency: null is not one of ${FREQUENCIES}`],
  [
    "a delay beyond a day",
    { run_delay: 86_401 },
    "deployment.run_delay: 86401 is greater than the maximum of 86400",
  ],
  [
    "a delay below 0",
    { between_calls_delay: -1 },
    "deployment.between_calls_delay: -1 is less than the minimum of 0",
  ],
  [
    "a fraction of a second",
    { run_delay: 0.5 },
    "deployment.run_delay: 0.5 is not of type integer",
  ],
  [
    "a target that is not there",
    { target_id: "x" },
    "deployment.target_id: 'x' is not a call or workflow that you may run",
  ],
  [
    "a location that is not there",
    { location_id: "moon" },
    "deployment.location_id: 'moon' is not one of ['local', 'far']",
  ],
  [
    "neither",
    { target_id: "x", location_id: "moon" },
    "deployment.target_id: 'x' is not a call or workflow that you may run (and 1 other fault)",
  ],
  [
    "an unknown property",
    { every: 5 },
    "Additional properties are not allowed ('every' was unexpected) in deployment",
  ],
])("refuses %s, on creation and on change", async (_what, change, error_msg) => {
  const { id } = await createCall(api);
  const expected = [400, { error_msg, error: 400 }];
  const created = await deploy(api, { target_id: id, ...change });
  expect([created.status, created.body]).toEqual(expected);
  const { body } = await deploy(api, { target_id: id });
  const before = await schedulesOf(api);
  const changed = await api.send({
    method: "PUT",
    path: `/deployments/${body.id}/`,
    body: { deployment: change },
  });
  expect([changed.status, changed.body]).toEqual(expected);
  expect(await schedulesOf(api)).toEqual(before);
});

it("merges a change, and updates the schedule", async () => {
  const { id } = await createCall(api);
  const { body } = await deploy(api, { target_id: id, run_delay: 86_400 });
  const path = `/deployments/${body.id}/`;
  const changed = await api.send<DeploymentAnswer>({
    method: "PUT",
    path,
    body: { deployment: { frequency: 60 } },
  });
  expect(changed.body).toEqual({
    ...body,
    meta: { ...body.meta, last_update: expect.any(String) },
    deployment: { ...body.deployment, frequency: 60 },
  });
  expect((await api.send({ path })).body).toEqual(changed.body);
  const schedules = await schedulesOf(api);
  expect(schedules.at(-1)).toMatchObject({ frequency: 60, run_delay: 86_400 });
});

it("leaves the schedule alone when it does not change", async () => {
  const { id } = await createCall(api);
  const { body } = await deploy(api, { target_id: id });
  const before = await api.store.schedules.listNew();
  const path = `/deployments/${body.id}`;
  await api.send({
    method: "POST",
    path,
    body: { deployment: body.deployment },
  });
  expect(await api.store.schedules.listNew()).toEqual(before);
});

it("deletes a deployment with its schedule", async () => {
  await using api = await startApi();
  const { id } = await createCall(api);
  const { body } = await deploy(api, { target_id: id, run_delay: 60 });
  const path = `/deployments/${body.id}/`;
  const answer = await api.send({ method: "DELETE", path });
  expect(answer.body).toEqual({ status: "OK" });
  expect((await api.send({ method: "DELETE", path })).status).toBe(404);
  expect(await schedulesOf(api)).toEqual([]);
});

it("lets a target's owner see and delete, but not change, others' deployments", async () => {
  await using api = await startApi();
  const owner = await api.caller("ann", "org", "EDITOR");
  const [bob, carol] = [await api.caller("bob", "org"), await api.caller("carol", "org")];
  const call = await createCall(api, { access: { org: true } }, owner);
  const workflow = await create(
    api,
    "/workflows/",
    { meta: { name: "w" }, workflow: { call_ids: [call.id] }, access: { org: true } },
    owner,
  );
  for (const [kind, { id: target_id }] of Object.entries({ call, workflow })) {
    const deployed = [];
    for (const as of [owner, bob, carol]) {
      const deployment = { target_id, location_id: "local", frequency: 5 };
      deployed.push((await create(api, "/deployments/", { deployment }, as)).id);
    }
    const listed = async (as: Caller, query = ""): Promise<List> =>
      (await api.send<List>({ path: `/deployments/${kind}/${target_id}/${query}`, as })).body;
    const idsOf = ({ results }: List) => results.map(({ id }) => id);
    expect(idsOf(await listed(owner))).toEqual(deployed);
    expect(idsOf(await listed(bob))).toEqual([deployed[1]]);
    const first = await listed(owner, "?limit=2");
    const rest = await listed(owner, `?limit=2&cursor=${first.meta.next_cursor}`);
    expect([...idsOf(first), ...idsOf(rest)]).toEqual(deployed);

    const path = `/deployments/${deployed[1]}/`;
    const statuses = async (as: Caller) => [
      (await api.send({ path, as })).status,
      (await api.send({ method: "PUT", path, body: { deployment: { frequency: 1 } }, as })).status,
      (await api.send({ method: "DELETE", path, as })).status,
    ];
    expect(await statuses(carol)).toEqual([404, 404, 404]);
    expect(await statuses(owner)).toEqual([200, 403, 200]);
    expect(idsOf(await listed(bob))).toEqual([]);
  }
});

const aMinuteFrom = (now: number, minutes: number) => ({
  due_time: now + minutes * 60_000,
  latest_start: now + minutes * 60_000 + 30_000,
  expires_at: now + 3_600_000,
});

it.each([
  ["the deployment", "UNABLE_TO_RUN"],
  ["the call", undefined],
])("withdraws runs that no agent may have when %s is deleted", async (what, outcome) => {
  await using api = await startApi({ clock: createManualClock(Date.now()) });
  const [{ id: earlier }, { id: target_id }] = [await createCall(api), await createCall(api)];
  const { body } = await deploy(api, { target_id: earlier });
  const change = { deployment: { target_id } };
  await api.send({ method: "PUT", path: `/deployments/${body.id}/`, body: change });
  const { pendingRuns, results } = api.store;
  const now = await api.store.now();
  const of = { target_id, deployment_id: body.id };
  const [due, ahead, published, soon] = [-1, 1, 1, 0.25].map((minutes) =>
    aRun({ ...of, ...aMinuteFrom(now, minutes) }),
  ) as [PendingRun, PendingRun, PendingRun, PendingRun];
  const [manual, moved] = [null, "which has another target by now"].map((deployment_id) =>
    aRun({ target_id, deployment_id, ...aMinuteFrom(now, 1) }),
  ) as [PendingRun, PendingRun];
  const delayed = aRun({ ...of, target_id: earlier, ...aMinuteFrom(now, 1) });
  await pendingRuns.insert([due, ahead, published, soon, manual, moved, delayed]);
  await pendingRuns.markPublished([published.result_id]);

  const path = what === "the call" ? `/calls/${target_id}/` : `/deployments/${body.id}/`;
  expect((await api.send({ method: "DELETE", path })).status).toBe(200);

  const left = await pendingRuns.listOfTarget(target_id, { after: "", limit: 10 });
  const ids = [published, soon, moved, outcome ? manual : due];
  expect(new Set(left.map(({ result_id }) => result_id))).toEqual(
    new Set(ids.map(({ result_id }) => result_id)),
  );
  expect(await pendingRuns.get(delayed.result_id)).toBeUndefined();
  const recorded = await results.get(due.result_id);
  expect([recorded?.meta.result, recorded?.meta.message]).toEqual(
    outcome ? [outcome, "the deployment was deleted before its run"] : [undefined, undefined],
  );
  for (const run of [ahead, published, soon, manual, moved, delayed])
    expect(await results.get(run.result_id)).toBeUndefined();
});

it("lists all deployments, and those of a call", async () => {
  await using api = await startApi();
  const [one, other] = [await createCall(api), await createCall(api)];
  const first = await deploy(api, { target_id: one.id });
  const second = await deploy(api, { target_id: other.id });
  const listed = async (path: string): Promise<string[]> =>
    (await api.send<List>({ path })).body.results.map(({ id }) => id);
  expect(await listed("/deployments/")).toEqual([first.body.id, second.body.id]);
  expect(await listed(`/deployments/call/${other.id}/`)).toEqual([second.body.id]);
});

it("lists by the id of a call only deployments of calls, and of a workflow those of workflows", async () => {
  const targets = {
    call: (await createCall(api)).id,
    workflow: (await create(api, "/workflows/", { meta: { name: "w" } })).id,
  };
  for (const [kind, other] of [
    ["call", "workflow"],
    ["workflow", "call"],
  ] as const) {
    const target_id = targets[kind];
    const { id } = (await deploy(api, { target_id })).body;
    const listed = async (path: string): Promise<string[]> =>
      (await api.send<List>({ path: `/deployments/${path}/${target_id}/` })).body.results.map(
        (one) => one.id,
      );
    expect([kind, await listed(kind), await listed(other)]).toEqual([kind, [id], []]);
  }
});
