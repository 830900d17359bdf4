// Tests every endpoint for every kind of caller and sharing: the access rules as a table.
import { StatementSync } from "node:sqlite";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { ACCESS_LEVELS } from "../../src/model/access.ts";
import type { AccessLevel } from "../../src/model/access.ts";
import { insightId } from "../../src/model/insight.ts";
import { routesOf } from "../../src/api/endpoint.ts";
import type { Endpoint } from "../../src/api/endpoint.ts";
import { startApi } from "../support/api.ts";
import { newId } from "../../src/runtime/ids.ts";
import type { Answer, Caller, Sent, TestApi } from "../support/api.ts";
import { documentedHeaders, ownHeaders } from "../support/answer-headers.ts";
import type { Responses } from "../support/answer-headers.ts";
import { makeObjects, NOTHING } from "../support/owned-objects.ts";
import type { Objects, Sharing } from "../support/owned-objects.ts";
import { until } from "../support/until.ts";

type Who = "owner" | "colleague" | "stranger";

/** Who has access. */
type Right =
  "everybody" | "its readers" | "its runners" | "its organization" | "its owner" | "nobody";

interface Row {
  readonly level: AccessLevel;
  readonly right: Right;
  /** The value for every path parameter. */
  readonly of?: keyof Objects | (() => string);
  readonly query?: string;
  readonly body?: (objects: Objects) => object;
  readonly done?: number;
  /** The status for callers without the right; readers get 403. */
  readonly refused?: 400 | 404;
  /** Only readers get 403. */
  readonly writes?: true;
  /** The object that the answer lists, and who may see it. */
  readonly shows?: readonly [keyof Objects, Right];
  readonly destroys?: true;
}

const meta = { name: "n" };
const read = (of: keyof Objects, more: Partial<Row> = {}): Row => ({
  level: "VIEWER",
  right: "its readers",
  of,
  ...more,
});
const list = (shows: Row["shows"], of?: Row["of"], more: Partial<Row> = {}): Row => ({
  level: "VIEWER",
  right: "everybody",
  query: "?limit=1000",
  ...(shows && { shows }),
  ...(of && { of }),
  ...more,
});
const write = (of: keyof Objects, body: object = {}): Row => ({
  level: "EDITOR",
  right: "its owner",
  writes: true,
  of,
  body: () => body,
});
const remove = (of: keyof Objects): Row => ({ ...write(of), destroys: true });
const make = (right: Right, body: (objects: Objects) => object, more: Partial<Row> = {}): Row => ({
  level: "EDITOR",
  right,
  body,
  done: 201,
  refused: 400,
  ...more,
});
const run = (of: keyof Objects): Row => ({
  ...write(of),
  right: "its runners",
});
/** For objects that are never shared: everyone but the owner gets 404. */
const hidden = (row: Row): Row => {
  const { writes: _writes, ...rest } = row;
  return { ...rest, right: "its owner" };
};

let names = 0;

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  createCall: [
    make("its readers", ({ setting }) => ({
      meta,
      request: { method: "GET", url: "http://a.test/", auth_id: setting },
    })),
    make("its owner", ({ setting, token }) => ({
      meta,
      request: {
        method: "GET",
        url: "http://a.test/",
        auth_id: setting,
        token_id: token,
      },
    })),
  ],
  updateCall: [write("call")],
  deleteCall: [remove("call")],
  getCall: [read("call"), read("call", { query: "?kind=DAY" })],
  listCalls: [list(["call", "its readers"])],
  listCallOverviews: [list(["call", "its readers"])],
  getCallOverview: [read("call")],
  listCallsOfAuthSetting: [list(["call", "its readers"], "setting")],
  runCall: [run("call")],
  getStat: [read("call")],
  getHistogram: [read("call")],
  listStatsSince: [read("call")],
  listStatsBefore: [read("call"), read("call", { query: "?kind=RAW" })],
  listResultsOfCall: [read("call", { shows: ["result", "its readers"] })],
  exportResults: [
    read("call", { shows: ["result", "its readers"] }),
    read("call", { query: "?format=ndjson", shows: ["result", "its readers"] }),
  ],
  exportStats: [read("call"), read("call", { query: "?kind=RAW&format=ndjson" })],
  getReportStats: [read("report", { shows: ["call", "its readers"] })],
  exportReport: [read("report", { shows: ["call", "its readers"] })],
  getResult: [read("result")],
  getResultContent: [read("result")],
  createWorkflow: [
    make("its runners", ({ call }) => ({
      meta,
      workflow: { call_ids: [call] },
    })),
  ],
  updateWorkflow: [write("workflow")],
  runWorkflow: [run("workflow")],
  changeOrRunWorkflow: [run("workflow"), write("workflow", { meta: {} })],
  deleteWorkflow: [remove("workflow")],
  getWorkflow: [read("workflow")],
  listWorkflows: [list(["workflow", "its readers"])],
  listWorkflowsOfCall: [list(["workflow", "its readers"], "call")],
  listResultsOfWorkflow: [read("workflow", { shows: ["workflowResult", "its readers"] })],
  getWorkflowResult: [read("workflowResult")],
  createDeployment: [
    make("its runners", ({ call }) => ({
      deployment: { target_id: call, location_id: "", frequency: 60 },
    })),
    make("its runners", ({ workflow }) => ({
      deployment: { target_id: workflow, location_id: "", frequency: 60 },
    })),
  ],
  updateDeployment: [hidden(write("deployment"))],
  deleteDeployment: [hidden(remove("deployment"))],
  getDeployment: [hidden(read("deployment"))],
  listDeployments: [list(["deployment", "its owner"])],
  listDeploymentsOfCall: [list(["deployment", "its owner"], "call")],
  listDeploymentsOfWorkflow: [list(["workflowDeployment", "its owner"], "workflow")],
  createAuthSetting: [
    make("everybody", () => ({
      meta: { ...meta, domain: "a.test" },
      settings: { auth_type: "NONE" },
    })),
  ],
  updateAuthSetting: [write("setting", { meta: { domain: "target.test" } })],
  deleteAuthSetting: [remove("unusedSetting")],
  getAuthSetting: [read("setting")],
  listAuthSettings: [list(["setting", "its readers"])],
  listAuthSettingsOfDomain: [list(["setting", "its readers"], () => "target.test")],
  createToken: [
    make("its readers", ({ setting }) => ({
      meta: { ...meta, auth_id: setting },
    })),
  ],
  updateToken: [hidden(write("token"))],
  deleteToken: [hidden(remove("unusedToken"))],
  getToken: [hidden(read("token"))],
  listTokens: [list(["token", "its owner"])],
  listTokensOfAuthSetting: [list(["token", "its owner"], "setting")],
  listWorkspaces: [list(["variable", "its organization"])],
  listEnvironment: [list(["variable", "its organization"], "variable")],
  getVariable: [read("variable", { right: "its organization" })],
  setVariable: [
    make("everybody", () => ({ value: "v" }), {
      of: () => `a_new_one_${(names += 1)}`,
    }),
  ],
  deleteVariable: [
    {
      level: "EDITOR",
      right: "its organization",
      of: "variable",
      destroys: true,
    },
  ],
  createReport: [
    make("its readers", ({ call: call_id }) => ({
      meta,
      groups: [{ name: "g", rows: [{ call_id, location_id: "" }] }],
    })),
  ],
  updateReport: [write("report")],
  deleteReport: [remove("report")],
  getReport: [read("report", { shows: ["call", "its readers"] })],
  listReports: [list(["report", "its readers"])],
  listInsights: [
    list(["call", "its readers"]),
    list(["call", "its readers"], undefined, { query: "?weekly=1&limit=1000" }),
  ],
  rankInsights: [
    list(["call", "its owner"], undefined, { query: "?weekly=true" }),
    list(["call", "its runners"], undefined, { query: "?weekly=true&inc_org=true" }),
  ],
  getLatestInsight: [read("call"), read("call", { query: "?weekly=true" })],
  getInsight: [read("insight")],
  listLocations: [list(undefined)],
  listLocationHealth: [list(undefined)],
  getLocationInfo: [list(undefined)],
  createApiKey: [make("everybody", () => ({}), { level: "OWNER" })],
  listApiKeys: [list(["key", "its owner"], undefined, { level: "OWNER" })],
  listAudit: [list(["key", "its owner"], undefined, { level: "OWNER" })],
  signIn: [{ level: "VIEWER", right: "everybody", done: 201 }],
  getSession: [list(undefined)],
  signOut: [{ level: "VIEWER", right: "everybody" }],
  revokeApiKey: [{ ...hidden(remove("key")), level: "OWNER" }],
};

function isOpen(right: Right, who: Who, sharing: Sharing): boolean {
  if (right === "everybody") return true;
  if (right === "nobody") return false;
  if (who === "owner") return true;
  const inOrganization = who === "colleague";
  const sharedWithIt = inOrganization && sharing === "with the organization";
  if (right === "its organization") return inOrganization;
  if (right === "its runners") return sharedWithIt;
  return right === "its readers" && (sharedWithIt || sharing === "with everyone");
}

function expectedStatus(row: Row, who: Who, level: AccessLevel, sharing: Sharing): number {
  const { right, done = 200, refused = 404, writes } = row;
  if (ACCESS_LEVELS.indexOf(level) < ACCESS_LEVELS.indexOf(row.level)) return 403;
  if (isOpen(right, who, sharing)) return done;
  return writes && isOpen("its readers", who, sharing) ? 403 : refused;
}

const PEOPLE: Readonly<Record<Who, readonly [owner: string, org: string]>> = {
  owner: ["ann", "org"],
  colleague: ["bob", "org"],
  stranger: ["eve", "another"],
};
const SHARINGS: readonly Sharing[] = ["not shared", "with the organization", "with everyone"];
/** Every combination of caller and sharing. */
const CASES: readonly (readonly [Who, Sharing])[] = (
  ["owner", "colleague", "stranger"] as const
).flatMap((who) => SHARINGS.map((sharing) => [who, sharing] as const));

let api: TestApi;
const keys = new Map<string, Caller>();
const objects = new Map<Sharing, Objects>();
const keyOf = (who: Who, level: AccessLevel): Caller => keys.get(`${who} ${level}`) as Caller;
const objectsOf = (sharing: Sharing): Objects => objects.get(sharing) as Objects;
const makeNew = (sharing: Sharing): Promise<Objects> =>
  makeObjects(api, keyOf("owner", "OWNER"), sharing);

beforeAll(async () => {
  api = await startApi();
  for (const who of ["owner", "colleague", "stranger"] as const)
    for (const level of ACCESS_LEVELS)
      keys.set(`${who} ${level}`, await api.caller(...PEOPLE[who], level));
  for (const sharing of SHARINGS) objects.set(sharing, await makeNew(sharing));
});
afterAll(() => api[Symbol.asyncDispose]());

type Request = Pick<Sent, "path" | "body"> & {
  readonly method: Endpoint["methods"][number];
  /** Its path in the OpenAPI document. */
  readonly documented: string;
};

/** Returns the requests of a row, for each method and path of its endpoint. */
function requestsOf(operationId: string, row: Row, ids: Objects): Request[] {
  const endpoint = api.api.endpoints.find((one) => one.operationId === operationId);
  if (!endpoint) throw new Error(`no endpoint ${operationId}`);
  const { of = () => "", query = "", body } = row;
  return routesOf(endpoint).map(({ method, path }) => {
    const id = typeof of === "function" ? of() : ids[of];
    return {
      method,
      path: path.replaceAll(/:\w+/g, id) + query,
      documented: `/api/2${path.replaceAll(/:(\w+)/g, "{$1}")}`,
      ...(body && { body: body(ids) }),
    };
  });
}

// The owner is tried at every level, and by every method and path. For others, levels differ only
// where one is too low, and all paths lead to the same handler.
const levelsOf = (who: Who): readonly AccessLevel[] =>
  who === "owner" ? ACCESS_LEVELS : ["VIEWER", "OWNER"];

const waysOf = (operationId: string, row: Row, who: Who): number[] => {
  const ways = [...requestsOf(operationId, row, NOTHING).keys()];
  return who === "owner" ? ways : ways.slice(0, 1);
};

const operations = Object.entries(ROWS).flatMap(([operationId, rows]) =>
  rows.map((row, n) => ({ operationId, row, n })),
);

it("has a row for every endpoint, and for no other", () => {
  const served = api.api.endpoints.map(({ operationId }) => operationId);
  // A stream has no end, so its rights are tested beside its events.
  expect([...Object.keys(ROWS), "streamEvents"].sort()).toEqual(served.sort());
});

it.each(operations)(
  "$operationId ($n) follows the access rules for every caller",
  async ({ operationId, row }) => {
    const [expected, actual]: string[][] = [[], []];
    for (const [who, sharing] of CASES)
      for (const level of levelsOf(who))
        for (const index of waysOf(operationId, row, who)) {
          const status = expectedStatus(row, who, level, sharing);
          const ids = row.destroys && status === 200 ? await makeNew(sharing) : objectsOf(sharing);
          const request = requestsOf(operationId, row, ids)[index] as Request;
          const as = keyOf(who, level);
          const answer = await api.send({ ...request, as });
          const label = `${request.method} ${level} ${who}, ${sharing}:`;
          expected?.push(`${label} ${status}`);
          actual?.push(`${label} ${answer.status}`);
          if (!row.shows || answer.status !== 200) continue;
          const [what, right] = row.shows;
          expected?.push(`${label} shown ${isOpen(right, who, sharing)}`);
          actual?.push(`${label} shown ${answer.text.includes(ids[what])}`);
        }
    expect(actual).toEqual(expected);
  },
);

/** The session cookies of the same callers. */
const cookies = new Map<Caller, string>();

async function cookieOf(as: Caller): Promise<string> {
  const known = cookies.get(as);
  if (known !== undefined) return known;
  const { headers } = await api.send({ method: "POST", path: "/session/", as });
  const [cookie = ""] = String(headers["set-cookie"]).split(";");
  cookies.set(as, cookie);
  return cookie;
}

/** The time up to which an answer reaches. */
const NOW = /"max_time":"[^"]+"/;

const isReading = ({ operationId }: (typeof operations)[number]): boolean =>
  /^(?:get|list|rank|export)/.test(operationId) && operationId !== "getSession";

it.each(operations.filter(isReading))(
  "$operationId ($n) answers a session as it answers its key",
  async ({ operationId, row }) => {
    const [request] = requestsOf(operationId, row, objectsOf("with the organization"));
    if (!request) throw new Error(`no request of ${operationId}`);
    const seen = ({ status, text }: Answer) => [status, text.replace(NOW, "")];
    for (const [who, level] of [
      ["owner", "VIEWER"],
      ["colleague", "EDITOR"],
      ["stranger", "OWNER"],
    ] as const) {
      const as = keyOf(who, level);
      const headers = { cookie: await cookieOf(as) };
      // What is measured at most every few seconds may be measured again in between.
      await until(async () => {
        const byKey = await api.send({ ...request, as });
        expect(seen(await api.send({ ...request, as: null, headers }))).toEqual(seen(byKey));
      });
    }
  },
);

it.each(operations)(
  "$operationId ($n) answers 401 without an active key",
  async ({ operationId, row }) => {
    const revoked = await api.caller("ann", "org");
    await api.store.apiKeys.revoke(revoked.key_id, null, 1);
    const unknown = { key: "x".repeat(32), key_id: "" };
    for (const as of [null, unknown, revoked])
      for (const request of requestsOf(operationId, row, objectsOf("with everyone"))) {
        const { status, body } = await api.send({ ...request, as });
        expect([status, body]).toEqual([401, { error_msg: "Unauthorized", error: 401 }]);
      }
  },
);

/** Headers of answers that are an object with an id. */
const OF_OBJECTS: ReadonlySet<string> = new Set(["etag", "sonde-role"]);

interface Documented {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Responses }>>>
  >;
}

let paths: Documented["paths"];
beforeAll(async () => {
  ({ paths } = (await api.send<Documented>({ path: "/openapi.json" })).body);
});

it.each(operations)(
  "$operationId ($n) sends the headers that the OpenAPI document names, and no others",
  async ({ operationId, row }) => {
    const as = keyOf("owner", "OWNER");
    for (const index of waysOf(operationId, row, "owner")) {
      const ids = row.destroys ? await makeNew("not shared") : objectsOf("not shared");
      for (const objects of row.of ? [ids, NO_OBJECTS] : [ids]) {
        const request = requestsOf(operationId, row, objects)[index] as Request;
        const answer = await api.send({ ...request, as });
        const { responses = {} } = paths[request.documented]?.[request.method.toLowerCase()] ?? {};
        const label = `${request.method} ${request.path} ${answer.status}`;
        const documented = documentedHeaders(responses, answer.status);
        expect([label, ownHeaders(answer)]).toEqual([
          label,
          documented.filter((name) => !OF_OBJECTS.has(name) || answer.body["id"] !== undefined),
        ]);
      }
    }
  },
);

/** Counts the SQL statements that `work` runs. */
async function countStatements(work: () => Promise<unknown>): Promise<number> {
  const spies = (["all", "run", "get", "iterate"] as const).map((method) =>
    vi.spyOn(StatementSync.prototype, method),
  );
  try {
    await work();
    return spies.reduce((count, spy) => count + spy.mock.calls.length, 0);
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

async function asked(request: Request) {
  const as = keyOf("stranger", "OWNER");
  // The store remembers the key until the next commit. Counting would otherwise depend on that.
  await api.send({ path: "/calls/none/", as });
  let answer: Awaited<ReturnType<TestApi["send"]>> | undefined;
  const statements = await countStatements(async () => {
    answer = await api.send({ ...request, as });
  });
  const { date: _date, ...headers } = answer?.headers ?? {};
  return { status: answer?.status, text: answer?.text, headers, statements };
}

it.each(operations.filter(({ row }) => row.right !== "everybody"))(
  "$operationId ($n) answers alike for unshared and missing objects: answer, headers, statements",
  async ({ operationId, row }) => {
    const ids = objectsOf("not shared");
    const missing = requestsOf(operationId, row, NO_OBJECTS);
    for (const [index, request] of requestsOf(operationId, row, ids).entries()) {
      const foreign = await asked(request);
      expect(foreign.status).toBe(row.refused ?? 404);
      expect(foreign.statements).toBeGreaterThan(0);
      const text = nameNothing(foreign.text ?? "", ids);
      expect({ ...foreign, text }).toEqual(await asked(missing[index] as Request));
    }
  },
);

/** Ids as long as real ones. */
const NO_OBJECTS: Objects = {
  ...(Object.fromEntries(
    Object.entries(NOTHING).map(([what]) => [what, newId(0)]),
  ) as unknown as Objects),
  insight: insightId({ call_id: newId(0), kind: "WEEK", start: 0 }),
};

/** Replaces the ids that messages quote. */
const nameNothing = (text: string, ids: Objects): string =>
  (Object.keys(ids) as (keyof Objects)[]).reduce(
    (named, what) => named.replaceAll(ids[what], NO_OBJECTS[what]),
    text,
  );
