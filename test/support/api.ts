// The API on a real embedded store and an in-process bus, with keys for any caller.
import { randomBytes } from "node:crypto";
import type { LightMyRequestResponse } from "fastify";
import { afterAll, beforeAll, expect } from "vitest";
import type { Bus } from "../../src/bus/bus.ts";
import { createInProcessBus } from "../../src/bus/in-process.ts";
import { createApiMetrics } from "../../src/api/metrics.ts";
import { createApi } from "../../src/api/server.ts";
import type { Api, ApiConfig } from "../../src/api/server.ts";
import type { AccessLevel } from "../../src/model/access.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import type { Clock } from "../../src/runtime/clock.ts";
import { createLogger } from "../../src/runtime/logger.ts";
import { Registry } from "../../src/runtime/metrics.ts";
import type { Store } from "../../src/store/store.ts";
import type { Json } from "./client.ts";
import { track } from "./no-leftovers.ts";
import { insertKey } from "./runs.ts";
import { createTestDatabase, standIn } from "./stores.ts";
import type { StoreKind, TestDatabase } from "./stores.ts";
import { createWaitingRuns } from "../../src/dispatch/waiting-runs.ts";

export type { Json } from "./client.ts";

export interface Caller {
  readonly key: string;
  readonly key_id: string;
}

export interface Sent {
  readonly method?: "GET" | "HEAD" | "POST" | "PUT" | "DELETE" | "PATCH";
  /** Relative to `/api/2`, unless it begins with two slashes. */
  readonly path: string;
  /** Sent as JSON; a string or bytes are sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Null: without a key. */
  readonly as?: Caller | null;
}

export interface Answer<T = Json> {
  readonly status: number;
  readonly headers: LightMyRequestResponse["headers"];
  readonly text: string;
  readonly body: T;
}

export interface TestApi extends AsyncDisposable {
  readonly api: Api;
  readonly store: Store;
  readonly database: TestDatabase;
  readonly bus: Bus;
  readonly registry: Registry;
  /** An OWNER key of "ann", who has no organization. */
  readonly ann: Caller;
  /** The log as text. */
  readonly logged: () => string;
  readonly caller: (
    owner: string,
    org?: string | null,
    access_level?: AccessLevel,
  ) => Promise<Caller>;
  /** Sent as ann by default. */
  readonly send: <T = Json>(sent: Sent) => Promise<Answer<T>>;
}

/** Shares one API among a file's tests, for tests that do not need an empty store. */
export function sharedApi(): TestApi {
  let api: TestApi | undefined;
  beforeAll(async () => {
    api = await startApi();
  });
  afterAll(() => api?.[Symbol.asyncDispose]());
  return standIn(() => api);
}

/** High enough for any test that does not set its own. */
export const LIMITS: ApiConfig["limits"] = {
  requestsPerMinute: 1_000_000,
  objects: 1_000_000,
  definitionsMiB: 1_000_000,
  keys: 1_000_000,
  manualRuns: 1_000_000,
};

/** On a free port of this machine. */
export const CONFIG: ApiConfig = {
  host: "127.0.0.1",
  port: 0,
  tokenInQuery: true,
  sessionIdleMs: 43_200_000,
  maxEventStreams: 500,
  maxConnections: 100,
  cursorKey: randomBytes(32),
  version: "0.0.0",
  limits: LIMITS,
};

export async function startApi({
  clock = systemClock,
  config = {},
  storeKind = "sqlite",
}: {
  readonly clock?: Clock;
  readonly storeKind?: StoreKind;
  readonly config?: Partial<ApiConfig>;
} = {}): Promise<TestApi> {
  const untrack = track("api");
  const database = await createTestDatabase(storeKind);
  const store = await database.open(clock);
  for (const id of ["local", "far"])
    await store.locations.insert({
      id,
      label: `The ${id} one`,
      region: "here",
      created: clock.now() + (id === "local" ? 0 : 1),
    });
  const lines: string[] = [];
  const log = createLogger("debug", {
    write: (line: string) => void lines.push(line),
  });
  const bus = createInProcessBus({ clock, log });
  const registry = new Registry();
  const api = createApi({
    store,
    dispatcher: { store, bus, waiting: createWaitingRuns(64) },
    clock,
    log,
    metrics: createApiMetrics(registry),
    config: { ...CONFIG, ...config },
  });

  const caller: TestApi["caller"] = (owner, org = null, access_level = "OWNER") =>
    insertKey(store, clock.now(), { owner, org, access_level });
  const ann = await caller("ann");

  return {
    api,
    store,
    database,
    bus,
    registry,
    ann,
    logged: () => lines.join(""),
    caller,
    send: (sent) => send(api, ann, sent),
    async [Symbol.asyncDispose]() {
      await api.stop();
      await bus.close();
      await database[Symbol.asyncDispose]();
      untrack();
    },
  };
}

async function send<T>(
  { app }: Api,
  ann: Caller,
  { method = "GET", path, body, headers, as = ann }: Sent,
): Promise<Answer<T>> {
  const response = await app.inject({
    method,
    url: path.startsWith("//") ? path.slice(1) : `/api/2${path}`,
    headers: {
      ...(as && { authorization: `Bearer ${as.key}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { payload: toPayload(body) }),
  });
  return {
    status: response.statusCode,
    headers: response.headers,
    text: response.payload,
    body: parsed(response) as T,
  };
}

const toPayload = (body: unknown): string | Buffer =>
  typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);

const parsed = ({ headers, payload }: LightMyRequestResponse): unknown =>
  String(headers["content-type"]).startsWith("application/json") && payload !== ""
    ? JSON.parse(payload)
    : undefined;

export interface CallAnswer {
  readonly id: string;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly access: Readonly<Record<string, boolean>>;
  readonly request: Readonly<Record<string, unknown>>;
}

type Body = Readonly<Record<string, unknown>>;

/** Matches an instant in an answer. */
export const AN_INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);

/** Posts a body; throws unless it is accepted. */
export async function create<T extends { readonly id: string } = Created>(
  { send, ann }: TestApi,
  path: string,
  body: Body,
  as: Caller = ann,
): Promise<T> {
  const answer = await send<T>({ method: "POST", path, body, as });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body;
}

export interface Created {
  readonly id: string;
  readonly [part: string]: string | Json;
}

/** Creates a call; `body` overrides parts of a minimal one. */
export const createCall = (api: TestApi, body: Body = {}, as?: Caller): Promise<CallAnswer> => {
  const minimal = {
    meta: { name: "a call" },
    request: { method: "get", url: "https://target.test/path" },
  };
  return create<CallAnswer>(api, "/calls/", { ...minimal, ...body }, as);
};

/** Creates an Authentication Setting; `body` overrides parts of a minimal one. */
export const createAuthSetting = (api: TestApi, body: Body = {}, as?: Caller): Promise<Created> => {
  const minimal = {
    meta: { name: "a setting", domain: "target.test" },
    settings: { auth_type: "OAUTH2" },
  };
  return create(api, "/auth/", { ...minimal, ...body }, as);
};

export interface List<T = { readonly id: string }> {
  readonly meta: { readonly more: boolean; readonly next_cursor: string };
  readonly results: readonly T[];
}
