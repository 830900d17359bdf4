// Creates and deploys the demo's calls through the API, like any other client.

const DEMO_TAG = "sonde-demo";

const DEMO_CALLS = [
  { path: "/steady", name: "Demo: steady" },
  { path: "/slow", name: "Demo: slow" },
  { path: "/flaky", name: "Demo: flaky" },
  { path: "/failing", name: "Demo: failing" },
  { path: "/cookies", name: "Demo: sets a cookie" },
] as const;

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

interface List<T> {
  readonly results: readonly T[];
}

interface DemoCall extends Made {
  readonly request: { readonly url: string };
}

type Send = <T>(method: string, path: string, body?: object) => Promise<T>;

/**
 * Creates a call and a one-minute deployment for each path of the demo target, and runs each new
 * call immediately. Leaves existing calls and deployments unchanged.
 */
export async function seedDemo(options: DemoOptions): Promise<void> {
  const { target, locationId: location_id } = options;
  const send = clientOf(options);
  const known = await send<List<DemoCall>>(
    "GET",
    `calls/?limit=1000&domain=${target.split(":")[0]}`,
  );
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
    const deployed = await send<List<Made>>("GET", `deployments/call/${id}/`);
    if (deployed.results.length > 0) continue;
    await send("POST", "deployments/", {
      deployment: { target_id: id, location_id, frequency: 1 },
    });
    await send("POST", `calls/${id}/run`, { location_id });
  }
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
