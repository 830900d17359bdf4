// Something on every page: one object of each kind, and the paths of the pages that show them.
import type { Client, Json } from "./client.ts";

export interface NamedPage {
  /** Of its pictures. */
  readonly name: string;
  readonly path: string;
}

interface Named {
  readonly id: string;
  readonly meta: { readonly name: string };
}

export interface Texts {
  /** Of everything that has a name. */
  readonly name: string;
  readonly tag: string;
  readonly header: string;
  readonly body: string;
}

export const PLAIN: Texts = {
  name: "Checkout",
  tag: "shop",
  header: "application/json",
  body: '{"item": 7}',
};

const idOf = async (making: Promise<Json>): Promise<string> => String((await making)["id"]);

/**
 * Makes one object of each kind with these texts, runs what can be run, and resolves to their
 * pages. `url`: what the call calls.
 */
export async function makeContent(
  { send }: Client,
  url: string,
  { name, tag, header, body }: Texts,
): Promise<NamedPage[]> {
  const meta = { name, description: name, tags: [tag] };
  const auth = await idOf(
    send("POST", "/auth/", {
      meta: { ...meta, domain: "127.0.0.1" },
      settings: { auth_type: "MANUAL", custom_variables: { tenant: body } },
    }),
  );
  const token = await idOf(
    send("POST", "/tokens/", {
      meta: { name, auth_id: auth },
      token: { headers: [{ key: "x-tenant", value: "{{tenant}}" }] },
    }),
  );
  const workspace = name.slice(0, 100);
  await send("POST", `/environment/${encodeURIComponent(workspace)}/user`, { value: body });
  const call = await idOf(
    send("POST", "/calls/", {
      meta,
      request: {
        method: "POST",
        url,
        headers: [{ key: "x-sent", value: header }],
        parameters: [{ key: "q", value: body }],
        body,
        auth_id: auth,
        token_id: token,
      },
    }),
  );
  await send("POST", "/deployments/", {
    deployment: { target_id: call, location_id: "", frequency: 60 },
  });
  const workflow = await idOf(
    send("POST", "/workflows/", { meta, workflow: { call_ids: [call, call] } }),
  );
  const report = await idOf(
    send("POST", "/reports/", {
      meta,
      groups: [{ name, rows: [{ call_id: call, location_id: "" }] }],
    }),
  );
  const context = { NOTE: body };
  const run = await send("POST", `/calls/${call}/run?wait=30`, { context });
  const workflowRun = await send("POST", `/workflows/${workflow}/run?wait=30`, { context });
  return [
    { name: "call", path: `/calls/${call}` },
    { name: "call-edit", path: `/calls/${call}/edit` },
    { name: "result", path: `/results/${String(run["result_id"])}` },
    { name: "workflow", path: `/workflows/${workflow}` },
    {
      name: "workflow-result",
      path: `/workflow-results/${String(workflowRun["workflow_result_id"])}`,
    },
    { name: "report", path: `/reports/${report}` },
    { name: "setting", path: `/settings/${auth}` },
    {
      name: "environment-workspace",
      path: `/environment?workspace=${encodeURIComponent(workspace)}`,
    },
  ];
}

/** The pages of the navigation, and forms of something new. */
export const PAGES: readonly NamedPage[] = [
  { name: "calls", path: "/calls" },
  { name: "call-new", path: "/calls/new" },
  { name: "workflows", path: "/workflows" },
  { name: "workflow-new", path: "/workflows/new" },
  { name: "insights", path: "/insights" },
  { name: "reports", path: "/reports" },
  { name: "locations", path: "/locations" },
  { name: "settings", path: "/settings" },
  { name: "setting-new", path: "/settings/new" },
  { name: "tokens", path: "/tokens" },
  { name: "environment", path: "/environment" },
  { name: "keys", path: "/keys" },
  { name: "audit", path: "/audit" },
];

/** The pages of the demo: its slow call, and an insight of its history. */
export async function demoPages({ send }: Client): Promise<NamedPage[]> {
  const calls = await send<{ results: Named[] }>("GET", "/calls/?limit=1000");
  const slow = calls.results.find(({ meta }) => meta.name === "Demo: slow");
  const insights = await send<{ results: { id: string }[] }>("GET", "/insights/?limit=1000");
  return [
    { name: "demo-slow", path: `/calls/${slow?.id}` },
    { name: "insight", path: `/insights/${insights.results[0]?.id}` },
  ];
}
