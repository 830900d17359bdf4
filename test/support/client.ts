// What tests ask of the API, whether it is called in this process or over HTTP.

/** Whatever JSON holds; tests say what they expect of it. */
export interface Json {
  readonly [name: string]: Json;
}

export type Exchange = (request: {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly body?: object;
}) => Promise<{ readonly status: number; readonly text: string }>;

export interface Schedule {
  readonly frequency?: number;
  readonly run_delay?: number;
  readonly location_id?: string;
}

export interface ListedResult {
  readonly id: string;
  readonly meta: {
    readonly result: string;
    readonly message: string | null;
    readonly trigger: string;
    readonly trigger_time: string;
    readonly due_time: string;
    readonly start_time: string | null;
    readonly agent_id: string | null;
    readonly deployment_id: string | null;
  };
}

export interface Client {
  /** Below `/api/2`; throws for any answer but a success. */
  send<T = Json>(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    body?: object,
  ): Promise<T>;
  createCall(url: string): Promise<string>;
  /** Every minute at the default location, unless told otherwise. */
  deploy(callId: string, schedule?: Schedule): Promise<string>;
  results(callId: string): Promise<readonly ListedResult[]>;
  /** `stat` of one period; null when there is none. */
  stat(callId: string, query: string): Promise<Json | null>;
}

export function createClient(exchange: Exchange): Client {
  const send: Client["send"] = async (method, path, body) => {
    const { status, text } = await exchange({
      method,
      path: `/api/2${path}`,
      ...(body && { body }),
    });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return JSON.parse(text);
  };
  return {
    send,
    async createCall(url) {
      const call = await send<{ id: string }>("POST", "/calls/", {
        meta: { name: `calls ${url}` },
        request: { method: "GET", url },
      });
      return call.id;
    },
    async deploy(target_id, schedule = {}) {
      const { frequency = 1, run_delay = 0, location_id = "" } = schedule;
      const deployment = await send<{ id: string }>("POST", "/deployments/", {
        deployment: { target_id, location_id, frequency, run_delay },
      });
      return deployment.id;
    },
    async results(callId) {
      const { results } = await send<{ results: ListedResult[] }>(
        "GET",
        `/calls/${callId}/results/?limit=1000`,
      );
      return results;
    },
    async stat(callId, query) {
      const { stat } = await send<{ stat: Json | null }>("GET", `/calls/${callId}/stats/?${query}`);
      return stat;
    },
  };
}

/** `apiUrl` without a path. */
export const httpClient = (apiUrl: string, apiKey: string): Client =>
  createClient(async ({ method, path, body }) => {
    const response = await fetch(`${apiUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  });
