// Creates one of everything that a caller can own, through the API and with a given sharing.
import { create, createAuthSetting, createCall } from "./api.ts";
import type { Caller, TestApi } from "./api.ts";
import { storeInsight } from "./insights.ts";
import { aReport, aWorkflowReport } from "./runs.ts";
import { periodStart } from "../../src/model/periods.ts";
import { ownerOf } from "../../src/model/access.ts";

export type Sharing = "not shared" | "with the organization" | "with everyone";

/** Ids by kind. */
export interface Objects {
  readonly call: string;
  readonly workflow: string;
  /** Of the call. */
  readonly deployment: string;
  readonly workflowDeployment: string;
  /** Used by the call and the token. */
  readonly setting: string;
  readonly unusedSetting: string;
  readonly token: string;
  readonly unusedToken: string;
  /** The call's, for the last closed week. */
  readonly insight: string;
  readonly report: string;
  readonly result: string;
  readonly workflowResult: string;
  /** Name of an environment variable and of its workspace. */
  readonly variable: string;
  readonly key: string;
}

/** Ids that do not exist. */
export const NOTHING: Objects = {
  call: "none",
  workflow: "none",
  deployment: "none",
  workflowDeployment: "none",
  setting: "none",
  unusedSetting: "none",
  token: "none",
  unusedToken: "none",
  insight: "none",
  report: "none",
  result: "none",
  workflowResult: "none",
  variable: "none",
  key: "none",
};

let made = 0;

export async function makeObjects(api: TestApi, as: Caller, sharing: Sharing): Promise<Objects> {
  const org = sharing === "with the organization";
  const everyone = sharing === "with everyone";
  const post = async (path: string, body: object): Promise<string> =>
    (await create(api, path, body as Record<string, unknown>, as)).id;
  const meta = { name: "one of everything" };

  const settingOf = async (): Promise<string> =>
    (await createAuthSetting(api, { access: { settings: everyone, org_settings: org } }, as)).id;
  const setting = await settingOf();
  const tokenOf = (): Promise<string> => post("/tokens/", { meta: { ...meta, auth_id: setting } });
  const token = await tokenOf();
  const { id: call } = await createCall(
    api,
    {
      access: { org, settings: everyone, results: everyone, stats: everyone },
      request: {
        method: "GET",
        url: "https://target.test/",
        auth_id: setting,
        token_id: token,
      },
    },
    as,
  );
  const workflow = await post("/workflows/", {
    meta,
    access: { org, public: everyone },
    workflow: { call_ids: [call] },
  });
  const deploymentOf = (target_id: string): Promise<string> =>
    post("/deployments/", { deployment: { target_id, location_id: "", frequency: 1440 } });
  const key = await create(api, "/api_keys/", {}, as);
  made += 1;
  const variable = `variable_${made}`;
  await post(`/environment/${variable}/${variable}`, { value: "secret" });
  return {
    call,
    workflow,
    setting,
    unusedSetting: await settingOf(),
    token,
    unusedToken: await tokenOf(),
    insight: await insightOf(api, call),
    variable,
    deployment: await deploymentOf(call),
    workflowDeployment: await deploymentOf(workflow),
    report: await post("/reports/", {
      meta,
      access: { org, public: everyone },
      groups: [{ name: "g", rows: [{ call_id: call, location_id: "local" }] }],
    }),
    key: key.id,
    result: await resultOf(api, as, `/calls/${call}/run`),
    workflowResult: await resultOf(api, as, `/workflows/${workflow}/run`),
  };
}

/** Stores a report of the last closed week; resolves with its id. */
async function insightOf({ store }: TestApi, call_id: string): Promise<string> {
  const stored = await store.documents.get("call", call_id);
  if (!stored) throw new Error(`no call ${call_id}`);
  const start = periodStart("WEEK", periodStart("WEEK", await store.now()) - 1);
  return storeInsight(store, { call_id, start, of: ownerOf(stored) });
}

/** Returns the id of a finished run's result, which has response content. */
async function resultOf({ send, store }: TestApi, as: Caller, path: string): Promise<string> {
  const { body } = await send<{
    readonly result_id?: string;
    readonly workflow_result_id?: string;
  }>({ method: "POST", path, body: {}, as });
  const id = body.result_id ?? body.workflow_result_id ?? "";
  const pending = await store.pendingRuns.get(id);
  if (!pending) throw new Error(`no run ${id} of ${path}`);
  const report = pending.call_ids ? aWorkflowReport(pending) : aReport(pending);
  const content = {
    content_type: "text/plain",
    encoding: "utf-8",
    size: 5,
    content: "hello",
    reason: null,
  };
  await store.results.record([
    {
      ...report,
      results: report.results.map((result) => ({ ...result, content })),
    },
  ]);
  return id;
}
