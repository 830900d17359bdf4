// Content for every page: one object of each kind, and the paths of the pages that show them.
import type { Client } from "./client.ts";

export interface NamedPage {
  /** Name of its screenshots. */
  readonly name: string;
  readonly path: string;
}

interface Made {
  readonly id: string;
}

interface Named extends Made {
  readonly meta: { readonly name: string };
}

export interface Texts {
  /** Name of everything that has one. */
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

/**
 * Creates one object of each kind with these texts, runs the runnable ones, and resolves with their
 * pages. `url` is the call's target.
 */
export async function makeContent(
  client: Client,
  url: string,
  { name, tag, header, body }: Texts,
): Promise<NamedPage[]> {
  const make = async (path: string, body: object): Promise<string> =>
    (await client.send<Made>("POST", path, body)).id;
  const meta = { name, description: name, tags: [tag] };
  const auth = await make("/auth/", {
    meta: { ...meta, domain: "127.0.0.1" },
    settings: { auth_type: "MANUAL", custom_variables: { tenant: body } },
  });
  const token = await make("/tokens/", {
    meta: { name, auth_id: auth },
    token: { headers: [{ key: "x-tenant", value: "{{tenant}}" }] },
  });
  const workspace = name.slice(0, 100);
  await client.send("POST", `/environment/${encodeURIComponent(workspace)}/user`, { value: body });
  const call = await make("/calls/", {
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
  });
  await client.send("POST", "/deployments/", {
    deployment: { target_id: call, location_id: "", frequency: 60 },
  });
  const workflow = await make("/workflows/", { meta, workflow: { call_ids: [call, call] } });
  const report = await make("/reports/", {
    meta,
    groups: [{ name, rows: [{ call_id: call, location_id: "" }] }],
  });
  const context = { NOTE: body };
  const { result_id } = await client.send<{ result_id: string }>(
    "POST",
    `/calls/${call}/run?wait=30`,
    { context },
  );
  const { workflow_result_id } = await client.send<{ workflow_result_id: string }>(
    "POST",
    `/workflows/${workflow}/run?wait=30`,
    { context },
  );
  return [
    { name: "call", path: `/calls/${call}` },
    { name: "call-edit", path: `/calls/${call}/edit` },
    { name: "result", path: `/results/${result_id}` },
    { name: "workflow", path: `/workflows/${workflow}` },
    { name: "workflow-result", path: `/workflow-results/${workflow_result_id}` },
    { name: "report", path: `/reports/${report}` },
    { name: "setting", path: `/settings/${auth}` },
    {
      name: "environment-workspace",
      path: `/environment?workspace=${encodeURIComponent(workspace)}`,
    },
  ];
}

/** The pages of the navigation, and the forms for new objects. */
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

/** Returns the pages of the demo: its slow call, and an insight of its history. */
export async function demoPages(client: Client): Promise<NamedPage[]> {
  const calls = await client.send<{ results: Named[] }>("GET", "/calls/?limit=1000");
  const slow = calls.results.find(({ meta }) => meta.name === "Demo: slow");
  const insights = await client.send<{ results: { id: string }[] }>("GET", "/insights/?limit=1000");
  return [
    { name: "demo-slow", path: `/calls/${slow?.id}` },
    { name: "insight", path: `/insights/${insights.results[0]?.id}` },
  ];
}
