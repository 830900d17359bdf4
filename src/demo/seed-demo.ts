// Creates and deploys the demo's calls and workflow through the API, like any other client.

const DEMO_TAG = "sonde-demo";

const DEMO_CALLS = [
  { path: "/steady", name: "Demo: steady" },
  { path: "/slow", name: "Demo: slow" },
  { path: "/flaky", name: "Demo: flaky" },
  { path: "/failing", name: "Demo: failing" },
  { path: "/cookies", name: "Demo: sets a cookie" },
] as const;

/** Its last call sends the cookie received by its first. */
const DEMO_WORKFLOW = {
  name: "Demo: visit",
  paths: ["/cookies", "/slow", "/cookies"],
} as const;

const ANSWER_TIMEOUT_MS = 10_000;

export interface DemoOptions {
  /** The API's URL without a path. */
  readonly apiUrl: string;
  readonly apiKey: string;
  /** The demo target's `host:port`. */
  readonly target: string;
  readonly locationId: string;
}

interface Made {
  readonly id: string;
}

interface Named extends Made {
  readonly meta: { readonly name: string };
}

interface List<T> {
  readonly results: readonly T[];
}

interface DemoCall extends Made {
  readonly request: { readonly url: string };
}

type Send = <T>(method: string, path: string, body?: object) => Promise<T>;

/**
 * Creates a call for each path of the demo target, and a workflow of some of them. Deploys each and
 * runs it at once. Leaves existing calls, workflows and deployments unchanged.
 */
export async function seedDemo(options: DemoOptions): Promise<void> {
  const { target } = options;
  const send = clientOf(options);
  const known = await send<List<DemoCall>>(
    "GET",
    `calls/?limit=1000&domain=${target.split(":")[0]}`,
  );
  const ids = new Map<string, string>();
  for (const { path, name } of DEMO_CALLS) {
    const url = `http://${target}${path}`;
    const { id } =
      known.results.find(({ request }) => request.url === url) ??
      (await send<Made>("POST", "calls/", {
        meta: {
          name,
          tags: [DEMO_TAG],
          description: `${url}, on the demo target in this process`,
        },
        request: { method: "GET", url },
      }));
    ids.set(path, id);
    await deployOnce(send, options, { kind: "call", id, frequency: 1 });
  }
  await seedWorkflow(send, options, ids);
}

/** `ids`: the calls' ids, by path. */
async function seedWorkflow(
  send: Send,
  options: DemoOptions,
  ids: ReadonlyMap<string, string>,
): Promise<void> {
  const { name, paths } = DEMO_WORKFLOW;
  const call_ids = paths.map((path) => ids.get(path));
  const known = await send<List<Named>>("GET", `workflows/call/${call_ids[0]}/?limit=1000`);
  const { id } =
    known.results.find(({ meta }) => meta.name === name) ??
    (await send<Made>("POST", "workflows/", {
      meta: { name, tags: [DEMO_TAG], description: "Receives a cookie, and shows it again" },
      workflow: { call_ids, handle_cookies: true },
    }));
  await deployOnce(send, options, { kind: "workflow", id, frequency: 5 });
}

interface DemoTarget extends Made {
  readonly kind: "call" | "workflow";
  /** Minutes between runs. */
  readonly frequency: number;
}

/** Deploys it and runs it once, unless it is deployed already. */
async function deployOnce(
  send: Send,
  { locationId: location_id }: DemoOptions,
  { kind, id, frequency }: DemoTarget,
): Promise<void> {
  const deployed = await send<List<Made>>("GET", `deployments/${kind}/${id}/`);
  if (deployed.results.length > 0) return;
  await send("POST", "deployments/", { deployment: { target_id: id, location_id, frequency } });
  await send("POST", `${kind}s/${id}/run`, { location_id });
}

const clientOf =
  ({ apiUrl, apiKey }: DemoOptions): Send =>
  async <T>(method: string, path: string, body?: object) => {
    const response = await fetch(`${apiUrl}/api/2/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    });
    const answer = (await response.json()) as T & {
      readonly error_msg?: string;
    };
    if (!response.ok) throw new Error(`cannot set up the demo: ${answer.error_msg}`);
    return answer;
  };
