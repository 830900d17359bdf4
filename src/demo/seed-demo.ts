// Fills an empty service with calls of the demo target, through the API like every other client.

const DEMO_TAG = "sonde-demo";

const DEMO_CALLS = [
  { path: "/steady", name: "Demo: steady" },
  { path: "/slow", name: "Demo: slow" },
  { path: "/flaky", name: "Demo: flaky" },
  { path: "/failing", name: "Demo: failing" },
  { path: "/cookies", name: "Demo: sets a cookie" },
] as const;

export interface DemoOptions {
  /** Of the API, without a path. */
  readonly apiUrl: string;
  readonly apiKey: string;
  /** Of the demo target, as `host:port`. */
  readonly target: string;
  readonly locationId: string;
}

/** Makes a call and a one-minute deployment for each path of the demo target, and runs each call once at once. */
export async function seedDemo({
  apiUrl,
  apiKey,
  target,
  locationId,
}: DemoOptions): Promise<void> {
  const post = async (
    path: string,
    body: object,
  ): Promise<{ readonly id: string }> => {
    const response = await fetch(`${apiUrl}/api/2/${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${apiKey}`,
        "content-type": "application/json",
      },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as {
      readonly id: string;
      readonly error_msg?: string;
    };
    if (!response.ok)
      throw new Error(`the demo could not be set up: ${answer.error_msg}`);
    return answer;
  };
  for (const { path, name } of DEMO_CALLS) {
    const call = await post("calls/", {
      meta: {
        name,
        tags: [DEMO_TAG],
        description: `http://${target}${path}, of the demo target in this process`,
      },
      request: { method: "GET", url: `http://${target}${path}` },
    });
    await post("deployments/", {
      deployment: { target_id: call.id, location_id: locationId, frequency: 1 },
    });
    await post(`calls/${call.id}/run`, { location_id: locationId });
  }
}
