// An API client for tests, in process or over HTTP.
import { expect } from "vitest";
import { until } from "./until.ts";

/** Any JSON; tests state what they expect of it. */
export interface Json {
  readonly [name: string]: Json;
}

export type Exchange = (request: {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}) => Promise<Exchanged>;

export interface Exchanged {
  readonly status: number;
  readonly text: string;
}

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
  /** `path` is relative to `/api/2`. Throws unless the answer is a success. */
  send<T = Json>(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    body?: object,
  ): Promise<T>;
  createCall(url: string): Promise<string>;
  /** By default, every minute at the default location. */
  deploy(callId: string, schedule?: Schedule): Promise<string>;
  results(callId: string): Promise<readonly ListedResult[]>;
  /** The results once there are some and none is in flight. */
  ended(callId: string): Promise<readonly ListedResult[]>;
  /** Returns the `stat` of one period; null if there is none. */
  stat(callId: string, query: string): Promise<Json | null>;
}

/** The API's answer takes several milliseconds of a processor. */
const POLL_MS = 100;

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
  const results: Client["results"] = async (callId) => {
    const list = await send<{ results: ListedResult[] }>(
      "GET",
      `/calls/${callId}/results/?limit=1000`,
    );
    return list.results;
  };
  return {
    send,
    results,
    ended: (callId) =>
      until(async () => {
        const found = await results(callId);
        const codes = found.map(({ meta }) => meta.result);
        expect(codes).not.toEqual([]);
        expect(codes).not.toContain("QUEUED");
        expect(codes).not.toContain("PROCESSING");
        return found;
      }, POLL_MS),
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
    async stat(callId, query) {
      const { stat } = await send<{ stat: Json | null }>("GET", `/calls/${callId}/stats/?${query}`);
      return stat;
    },
  };
}

/** `apiUrl` has no path; the path of a request begins with `/api/2`. */
export const httpExchange =
  (apiUrl: string, apiKey: string) =>
  async ({ method, path, body, headers }: Parameters<Exchange>[0]) => {
    const response = await fetch(`${apiUrl}${path}`, {
      method,
      signal: AbortSignal.timeout(30_000),
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      headers: response.headers,
      text: await response.text(),
    } satisfies Exchanged & { readonly headers: Headers };
  };

export const httpClient = (apiUrl: string, apiKey: string): Client =>
  createClient(httpExchange(apiUrl, apiKey));
