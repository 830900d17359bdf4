// What access-matrix.test.ts does not cross: sharing in part, sharing that has ended, and owners of
// the same name in different organizations.
import { expect, it } from "vitest";
import { aReport } from "../support/runs.ts";
import { create, createAuthSetting, createCall, sharedApi, startApi } from "../support/api.ts";
import type { List, Sent, TestApi } from "../support/api.ts";

const api = sharedApi();

const newCall = {
  meta: { name: "n" },
  request: { method: "GET", url: "http://a.test/" },
};

interface Ids {
  readonly call: string;
  readonly result: string;
}

/** Creates a call of ann's with this sharing, and a result of it. */
async function stock(api: TestApi, access: Record<string, boolean>): Promise<Ids> {
  const ann = await api.caller("ann", "org");
  const { id } = await createCall(api, { access }, ann);
  const run = await api.send<{ result_id: string }>({
    method: "POST",
    path: `/calls/${id}/run`,
    as: ann,
  });
  const pending = await api.store.pendingRuns.get(run.body.result_id);
  if (pending) await api.store.results.record([aReport(pending)]);
  return { call: id, result: run.body.result_id };
}

type Reader = "stranger" | "colleague";
const READS = ["call", "results", "result", "stats", "run", "update"] as const;

// The statuses that each reader gets for the call, its results, one result, its statistics, a run
// of it, and a change of it.
it.each<[string, Record<string, boolean>, Reader, readonly number[]]>([
  ["access.settings", { settings: true }, "stranger", [200, 404, 404, 404, 403, 403]],
  ["access.results", { results: true }, "stranger", [404, 200, 200, 404, 404, 404]],
  ["access.stats", { stats: true }, "stranger", [404, 404, 404, 200, 404, 404]],
  [
    "all of it",
    { settings: true, results: true, stats: true },
    "colleague",
    [200, 200, 200, 200, 403, 403],
  ],
])("sharing %s (%o) opens only that part to a %s", async (_what, access, reader, expected) => {
  const { call, result } = await stock(api, access);
  const as = reader === "colleague" ? await api.caller("bob", "org") : await api.caller("eve");
  const requests: Record<(typeof READS)[number], Sent> = {
    call: { path: `/calls/${call}/` },
    results: { path: `/calls/${call}/results/` },
    result: { path: `/results/${result}/` },
    stats: { path: `/calls/${call}/stats/` },
    run: { method: "POST", path: `/calls/${call}/run` },
    update: { method: "PUT", path: `/calls/${call}/`, body: {} },
  };
  const statuses: number[] = [];
  for (const read of READS) statuses.push((await api.send({ ...requests[read], as })).status);
  expect(statuses).toEqual(expected);
});

// Each owner creates one of each; keys come first, since the others use them.
it("separates owners of the same name by organization", async () => {
  await using api = await startApi();
  const orgs = ["acme", "globex", null];
  const made = [];
  for (const org of orgs) {
    const as = await api.caller("owner", org);
    const setting = await createAuthSetting(api, { keys: { client_secret: `of ${org}` } }, as);
    const token = {
      meta: { name: "t", auth_id: setting.id },
      token: { access_token: `of ${org}` },
    };
    const call = await createCall(api, {}, as);
    const deployment = { target_id: call.id, location_id: "local", frequency: 1 };
    const report = { meta: { name: "r" } };
    made.push({
      as,
      org,
      ids: {
        api_keys: as.key_id,
        auth: setting.id,
        tokens: (await create(api, "/tokens/", token, as)).id,
        calls: call.id,
        deployments: (await create(api, "/deployments/", { deployment }, as)).id,
        reports: (await create(api, "/reports/", report, as)).id,
      },
    });
  }
  for (const { as, org, ids } of made) {
    for (const [kind, id] of Object.entries(ids)) {
      const { body } = await api.send<List>({ path: `/${kind}/`, as });
      expect([kind, body.results.map((each) => each.id)]).toEqual([kind, [id]]);
    }
    const others = made
      .filter((each) => each.org !== org)
      .flatMap(({ ids: of }) => Object.entries(of));
    for (const [kind, id] of others)
      for (const method of ["GET", "DELETE"] as const) {
        if (kind === "api_keys" && method === "GET") continue;
        const answer = await api.send({ method, path: `/${kind}/${id}/`, as });
        expect([kind, method, answer.status]).toEqual([kind, method, 404]);
      }
    const entries = await api.store.audit.list({ of: { owner: "owner", org }, limit: 100 });
    expect(new Set(entries.map(({ actor }) => actor))).toEqual(new Set([as.key_id]));
  }
});

it("lists nothing of an object that its owner no longer shares", async () => {
  const [ann, bob] = [await api.caller("ann", "lists"), await api.caller("bob", "lists")];
  const setting = await createAuthSetting(api, { access: { org_settings: true } }, ann);
  const call = await createCall(api, { access: { org: true } }, ann);
  const run = { frequency: 5, location_id: "local" };
  const lists = [`/calls/auth/${setting.id}/`, `/tokens/auth/${setting.id}/`];
  lists.push(`/workflows/call/${call.id}/`, `/deployments/call/${call.id}/`);
  await createCall(api, { request: { ...newCall.request, auth_id: setting.id } }, bob);
  await create(api, "/tokens/", { meta: { name: "n", auth_id: setting.id } }, bob);
  const workflow = { meta: { name: "n" }, workflow: { call_ids: [call.id] } };
  await create(api, "/workflows/", workflow, bob);
  await create(api, "/deployments/", { deployment: { target_id: call.id, ...run } }, bob);
  const lengths = (): Promise<number[]> =>
    Promise.all(
      lists.map(async (path) => (await api.send<List>({ path, as: bob })).body.results.length),
    );
  expect(await lengths()).toEqual([1, 1, 1, 1]);
  for (const [path, body] of [
    [`/auth/${setting.id}/`, { meta: { domain: "target.test" }, access: { org_settings: false } }],
    [`/calls/${call.id}/`, { access: { org: false } }],
  ] as const)
    expect((await api.send({ method: "PUT", path, body, as: ann })).status).toBe(200);
  expect(await lengths()).toEqual([0, 0, 0, 0]);
});

it("says what a reader is to an object", async () => {
  const { call } = await stock(api, { settings: true, org: true });
  const roleOf = async (name: string, org?: string) => {
    const as = await api.caller(name, org);
    return (await api.send({ path: `/calls/${call}/`, as })).headers["sonde-role"];
  };
  expect(await roleOf("ann", "org")).toBe("owner");
  expect(await roleOf("bob", "org")).toBe("member");
  expect(await roleOf("bob", "other")).toBe("reader");
  expect(await roleOf("ann", "other")).toBe("reader");
  expect(await roleOf("ann")).toBe("reader");
});
