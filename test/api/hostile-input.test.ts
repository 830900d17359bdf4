// Sends invalid bodies to every endpoint, and bodies at and beyond every documented limit.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAuthSetting, createCall, startApi } from "../support/api.ts";
import type { Answer, Sent, TestApi } from "../support/api.ts";
import { makeObjects } from "../support/owned-objects.ts";
import type { Objects } from "../support/owned-objects.ts";

let api: TestApi;
let objects: Objects;
beforeAll(async () => {
  api = await startApi();
  objects = await makeObjects(api, api.ann, "not shared");
});
afterAll(() => api[Symbol.asyncDispose]());

const nested = (depth: number): string => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
const MIB = 1024 * 1024;

/** Every endpoint refuses these, with this status and message. */
const REFUSED: readonly (readonly [
  what: string,
  body: string | Buffer,
  status: number,
  said: RegExp,
])[] = [
  ["__proto__", '{"__proto__": {"a": 1}}', 400, /'__proto__' was unexpected/],
  ["__proto__ inside", '{"meta": {"__proto__": 1}}', 400, /'__proto__'/],
  ["constructor", '{"constructor": {"prototype": 1}}', 400, /'constructor'|'prototype'/],
  ["a name given twice", '{"meta": {}, "meta": {}}', 400, /'meta' is given more than once/],
  ["33 levels", nested(33), 400, /nested deeper than 32 levels/],
  ["10,000 levels", nested(10_000), 400, /nested deeper than 32 levels/],
  ["100,000 open objects", '{"a":'.repeat(100_000), 400, /nested deeper than 32 levels/],
  ["invalid UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), 400, /not valid UTF-8/],
  ["UTF-16", Buffer.from('{"a": 1}', "utf16le"), 400, /not valid JSON|Additional/],
  ["an overlong NUL", Buffer.from([0x7b, 0x22, 0xc0, 0x80, 0x22, 0x7d]), 400, /not valid UTF-8/],
  ["NUL in a value", String.raw`{"meta": {"name": "\u0000"}}`, 400, /NUL/],
  ["NUL in a name", String.raw`{"\u0000": 1}`, 400, /NUL/],
  ["NUL itself", '{"a": "\0"}', 400, /not valid JSON/],
  ["a lone surrogate", String.raw`{"meta": {"name": "\ud83d"}}`, 400, /lone surrogate/],
  ["a body that is cut off", '{"meta": {"name": "n"', 400, /not valid JSON/],
  ["two bodies", "{}{}", 400, /not valid JSON/],
  ["an array", "[]", 400, /body: \[\] is not of type object/],
  ["a number", "5", 400, /body: 5 is not of type object/],
  ["null", "null", 400, /body: null is not of type object/],
  ["a number beyond all", '{"unknown": 1e400}', 400, /'unknown' was unexpected/],
  ["a number beyond 2^53", '{"unknown": 9007199254740993}', 400, /'unknown' was unexpected/],
  [
    "thousands of unknown names",
    JSON.stringify(Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`k${n}`, n]))),
    400,
    /Additional properties are not allowed/,
  ],
  [
    "1 MiB and a byte",
    `{"a":"${"x".repeat(MIB - 7)}"}`,
    413,
    /larger than 1048576 bytes \(1 MiB\)/,
  ],
];

const writers = (): Sent[] => {
  const ids: Readonly<Record<string, string>> = {
    calls: objects.call,
    workflows: objects.workflow,
    deployments: objects.deployment,
    auth: objects.setting,
    tokens: objects.token,
    reports: objects.report,
    environment: objects.variable,
  };
  return api.api.endpoints.flatMap(({ path, methods }) =>
    methods
      .filter((method) => method === "POST" || method === "PUT")
      .map((method) => ({
        method,
        path: path.replaceAll(/:\w+/g, ids[path.split("/")[1] ?? ""] ?? "x"),
      })),
  );
};

const isError = ({ status, body }: Answer): boolean =>
  body["error"] === (status as unknown) && typeof body["error_msg"] === "string";

describe("every endpoint that accepts a body", () => {
  it.each(REFUSED)("refuses %s", async (_what, body, status, said) => {
    const endpoints = writers();
    expect(endpoints.length).toBeGreaterThan(25);
    for (const endpoint of endpoints) {
      const answer = await api.send({ ...endpoint, body });
      const at = `${endpoint.method} ${endpoint.path}: ${answer.text.slice(0, 300)}`;
      expect(answer.status, at).toBe(status);
      expect(answer.text, at).toMatch(said);
      expect(isError(answer), at).toBe(true);
    }
  });

  it.each([
    "text/plain",
    "application/xml",
    "multipart/form-data",
    "json",
    "application/json-patch+json",
  ])("refuses a body of the type %s", async (type) => {
    for (const endpoint of writers()) {
      const answer = await api.send({
        ...endpoint,
        body: "{}",
        headers: { "content-type": type },
      });
      expect([answer.status, isError(answer)], endpoint.path).toEqual([415, true]);
    }
  });

  it("treats no body, an empty one and one with a byte order mark like {}", async () => {
    for (const endpoint of writers()) {
      const empty = await api.send({ ...endpoint, body: "{}" });
      expect(empty.status, endpoint.path).toBeLessThan(500);
      for (const sent of [{ body: "\uFEFF{}" }, { body: "" }, {}]) {
        const answer = await api.send({ ...endpoint, ...sent });
        expect(answer.status, `${endpoint.method} ${endpoint.path}`).toBe(empty.status);
      }
    }
  });

  it.each([
    ["Idempotency-Key", "", 400],
    ["Idempotency-Key", "a b", 400],
    ["Idempotency-Key", "\u00e9", 400],
    ["Idempotency-Key", "x".repeat(256), 400],
    ["If-Match", "", 412],
    ["If-Match", '"', 412],
    ["If-Match", 'W/"", *, \u00ff', 412],
    ["If-Match", ",".repeat(8000), 412],
  ])("handles %s: %j", async (name, value, status) => {
    for (const endpoint of writers()) {
      const answer = await api.send({
        ...endpoint,
        body: "{}",
        headers: { [name]: value },
      });
      const at = `${endpoint.method} ${endpoint.path}: ${answer.text}`;
      expect(answer.status, at).toBeLessThan(500);
      if (name === "Idempotency-Key") expect(answer.status, at).toBe(status);
      else expect([200, 201, 400, 404, status], at).toContain(answer.status);
    }
  });
});

const call = (part: object, more: object = {}): object => ({
  meta: { name: "n", ...part },
  request: { method: "GET", url: "http://a.test/", ...more },
});
const times = <T>(count: number, one: T): T[] => Array<T>(count).fill(one);
const pair = { key: "k", value: "v" };

/**
 * For each limit: the body of a given size, the largest size allowed, and the message for one more.
 */
const LIMITS: readonly (readonly [
  what: string,
  path: string,
  body: (size: number) => object,
  limit: number,
  said: string,
])[] = [
  ["a name", "/calls/", (n) => call({ name: "x".repeat(n) }), 200, "meta.name: 'x"],
  [
    "a description",
    "/calls/",
    (n) => call({ description: "x".repeat(n) }),
    4000,
    "meta.description: 'x",
  ],
  ["tags", "/calls/", (n) => call({ tags: times(n, "t") }), 50, "meta.tags: 51 items are too many"],
  ["a tag", "/calls/", (n) => call({ tags: ["x".repeat(n)] }), 100, "meta.tags[0]: 'x"],
  [
    "parameters",
    "/calls/",
    (n) => call({}, { parameters: times(n, pair) }),
    100,
    "request.parameters: 101 items are too many",
  ],
  [
    "the key of a parameter",
    "/calls/",
    (n) => call({}, { parameters: [{ ...pair, key: "x".repeat(n) }] }),
    8192,
    "request.parameters[0].key: 'x",
  ],
  [
    "the value of a parameter",
    "/calls/",
    (n) => call({}, { parameters: [{ ...pair, value: "x".repeat(n) }] }),
    8192,
    "request.parameters[0].value: 'x",
  ],
  [
    "headers",
    "/calls/",
    (n) => call({}, { headers: times(n, pair) }),
    100,
    "request.headers: 101 items are too many",
  ],
  [
    "the key of a header",
    "/calls/",
    (n) => call({}, { headers: [{ ...pair, key: "x".repeat(n) }] }),
    8192,
    "request.headers[0].key: 'x",
  ],
  [
    "the value of a header",
    "/calls/",
    (n) => call({}, { headers: [{ ...pair, value: "x".repeat(n) }] }),
    8192,
    "request.headers[0].value: 'x",
  ],
  [
    "the body of a call",
    "/calls/",
    (n) => call({}, { body: "x".repeat(n) }),
    512 * 1024,
    "request.body: 'x",
  ],
  [
    "the calls of a workflow",
    "/workflows/",
    (n) => ({
      meta: { name: "n" },
      workflow: { call_ids: times(n, objects.call) },
    }),
    100,
    "workflow.call_ids: 101 items are too many",
  ],
  [
    "the groups of a report",
    "/reports/",
    (n) => ({ meta: { name: "n" }, groups: times(n, { name: "g" }) }),
    50,
    "groups: 51 items are too many",
  ],
  [
    "the rows of a group",
    "/reports/",
    (n) => ({
      meta: { name: "n" },
      groups: [
        {
          name: "g",
          rows: times(n, { call_id: objects.call, location_id: "" }),
        },
      ],
    }),
    500,
    "groups[0].rows: 501 items are too many",
  ],
];

it.each(LIMITS)(
  "accepts %s up to its limit, and names the limit beyond it",
  async (_what, path, body, limit, said) => {
    const send = (size: number) => api.send({ method: "POST", path, body: body(size) });
    const most = await send(limit);
    expect(most.status, most.text).toBe(201);
    const { status, text, body: answer } = await send(limit + 1);
    expect(status).toBe(400);
    expect(text).toContain(said);
    expect(text).toContain(`at most ${limit}`);
    expect(answer["error"]).toBe(400);
  },
);

const names = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`v${n}`, "v"]));
const setting = (custom_variables: object, client_secret = ""): object => ({
  meta: { name: "n", domain: "a.test" },
  settings: { auth_type: "NONE", custom_variables },
  keys: { client_secret },
});
const KIB_64 = 64 * 1024;

it.each<[string, () => string, (size: number) => object, number, RegExp]>([
  [
    "variables of a setting",
    () => "/auth/",
    (n) => setting(names(n)),
    100,
    /settings\.custom_variables: .* more than 100 properties/,
  ],
  [
    "the value of one",
    () => "/auth/",
    (n) => setting({ v: "x".repeat(n) }),
    8192,
    /settings\.custom_variables\.v: .* \(at most 8192 characters\)/,
  ],
  [
    "a secret",
    () => "/auth/",
    (n) => setting({}, "x".repeat(n)),
    KIB_64,
    /keys\.client_secret: .* \(at most 65536 characters\)/,
  ],
  [
    "the value of a variable",
    () => "/environment/w/v",
    (n) => ({ value: "x".repeat(n) }),
    KIB_64,
    /value: .* \(at most 65536 characters\)/,
  ],
  [
    "what a token was answered with",
    () => "/tokens/",
    (n) => ({
      meta: { name: "n", auth_id: objects.setting },
      api_response: { a: "x".repeat(n - 8) },
    }),
    KIB_64,
    /api_response: .* is larger than 64 KiB/,
  ],
  [
    "the context of a run",
    () => `/calls/${objects.call}/run`,
    (n) => ({ context: names(n) }),
    100,
    /context: .* more than 100 properties/,
  ],
])("accepts %s up to its limit, and names the limit beyond it", async (...row) => {
  const [, path, body, limit, said] = row;
  const send = (size: number) => api.send({ method: "POST", path: path(), body: body(size) });
  const most = await send(limit);
  expect(most.status, most.text).toBeLessThan(300);
  const { status, body: answer } = await send(limit + 1);
  expect([status, answer["error_msg"]]).toEqual([400, expect.stringMatching(said)]);
});

it("accepts 32 levels, and a body of exactly 1 MiB", async () => {
  for (const body of [nested(32), `{"a":"${"x".repeat(MIB - 8)}"}`]) {
    const { status, text } = await api.send({
      method: "POST",
      path: "/calls/",
      body,
    });
    expect([status, text]).toEqual([400, expect.stringContaining("('a' was unexpected)")]);
  }
});

it.each([
  ["1e400", /run_delay: (null|Infinity) is not of type integer/],
  ["9007199254740993", /run_delay: 9007199254740992 is greater than the maximum of 86400/],
  ["-1", /run_delay: -1 is less than the minimum of 0/],
  ["1.5", /run_delay: 1.5 is not of type integer/],
  ["1e3", /^$/],
])("validates the number %s", async (number, said) => {
  const { text, status } = await api.send({
    method: "POST",
    path: `/calls/${objects.call}/run`,
    body: `{"run_delay": ${number}}`,
  });
  expect(status === 200 ? "" : text).toMatch(said);
});

it("stores nothing of thousands of unknown properties", async () => {
  const body = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`k${n}`, n]));
  const path = `/calls/${objects.call}/`;
  const before = await api.send({ path });
  const { status, text } = await api.send({ method: "PUT", path, body });
  expect([status, text.length < 1000]).toEqual([400, true]);
  expect((await api.send({ path })).text).toBe(before.text);
});

it("refuses a variable name with a line break", async () => {
  const { id } = await createAuthSetting(api);
  const { status } = await api.send({
    method: "PUT",
    path: `/auth/${id}/`,
    body: {
      meta: { domain: "target.test" },
      settings: { custom_variables: { "a\nb": 5 } },
    },
  });
  expect(status).toBe(400);
});

it("still serves after all of this", async () => {
  const { id } = await createCall(api);
  expect((await api.send({ path: `/calls/${id}/` })).status).toBe(200);
  expect(({} as Record<string, unknown>)["a"]).toBeUndefined();
  expect(api.logged()).not.toContain('"level":"error"');
});
