import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { renderMetrics } from "../../src/runtime/metrics.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { createCall, sharedApi, startApi } from "../support/api.ts";
import type { Sent } from "../support/api.ts";
import { undisturbed } from "../support/undisturbed.ts";

const api = sharedApi();

const unauthorized = { error_msg: "Unauthorized", error: 401 };
const NO_KEY = "x".repeat(32);

it.each<[string, Partial<Sent>]>([
  ["no key", {}],
  ["an unknown key", { headers: { authorization: `Bearer ${NO_KEY}` } }],
  ["a key that is too short", { headers: { "x-api-key": "abc" } }],
  ["another scheme", { headers: { authorization: "Basic YTpi" } }],
  ["an unknown key in the query", { path: `/calls/?_token=${NO_KEY}` }],
  ["two keys in the query", { path: `/calls/?_token=a&_token=b` }],
  ["no key and a body that is not JSON", { method: "POST", body: "{" }],
  ["no key and an object that is not there", { path: "/calls/none/" }],
])("answers 401 to %s", async (_what, sent) => {
  const answer = await api.send({ path: "/calls/", as: null, ...sent });
  expect([answer.status, answer.body]).toEqual([401, unauthorized]);
  expect(answer.headers["www-authenticate"]).toBe("Bearer");
});

it("checks the level of a key before it reads the body", async () => {
  const as = await api.caller("ann", null, "VIEWER");
  const answer = await api.send({ method: "POST", path: "/calls/", body: "{", as });
  const error_msg = "This needs a key of access level EDITOR; yours is VIEWER";
  expect([answer.status, answer.body]).toEqual([403, { error_msg, error: 403 }]);
});

it("accepts a key in either header, and in the query", async () => {
  const { key } = api.ann;
  const ways: Partial<Sent>[] = [
    { headers: { authorization: `Bearer ${key}` } },
    { headers: { authorization: `bearer  ${key}` } },
    { headers: { "x-api-key": key } },
    { headers: { "x-api-key": key, authorization: "Basic YTpi" } },
    { path: `/calls/?_token=${key}` },
  ];
  for (const way of ways) {
    const answer = await api.send({ path: "/calls/", as: null, ...way });
    expect(answer.status).toBe(200);
  }
});

it("refuses a key in the query when that is disabled", async () => {
  await using api = await startApi({ config: { tokenInQuery: false } });
  const answer = await api.send({
    path: `/calls/?_token=${api.ann.key}`,
    as: null,
  });
  expect(answer.status).toBe(401);
});

it("answers 429 to a flood of wrong keys from an address, and still serves valid ones", async () => {
  const clock = createManualClock(Date.UTC(2026, 9, 1));
  await using api = await startApi({ clock });
  const wrong = { path: "/calls/", as: { key: NO_KEY, key_id: "" } };
  for (let n = 0; n < 600; n += 1) await api.send(wrong);
  const answer = await api.send(wrong);
  expect([answer.status, answer.headers["retry-after"]]).toEqual([429, "60"]);
  expect(answer.body).toEqual({
    error_msg: "Too many requests with a wrong API key; try again in 60 s",
    error: 429,
  });
  expect((await api.send({ path: "/calls/" })).status).toBe(200);
  await clock.advance(60_000);
  expect((await api.send(wrong)).status).toBe(401);
});

it("logs no key and no path", async () => {
  await using api = await startApi();
  await api.send({ path: `/calls/secret-id/?_token=${api.ann.key}` });
  await api.send({ path: `/nothing/?_token=${api.ann.key}` });
  expect(api.logged()).not.toContain(api.ann.key);
  expect(api.logged()).not.toContain("secret-id");
  expect(api.logged()).toMatch(
    /"request_id":"req-[\da-z]+","key_id":"[\da-z-]+","method":"GET","route":"\/api\/2\/calls\/:id\/","status":404,"duration_ms":[\d.]+,"msg":"request answered"/,
  );
});

it("counts requests by route and status", async () => {
  await using api = await startApi();
  await api.send({ path: "/calls/a/" });
  await api.send({ path: "/calls/b/" });
  await api.send({ path: "/nowhere/" });
  const text = await renderMetrics(api.registry, []);
  expect(text).toContain(
    'sonde_api_requests_total{method="GET",route="/api/2/calls/:id/",status="404"} 2',
  );
  expect(text).toContain('route="unknown",status="404"} 1');
  expect(text).toContain(
    'sonde_api_request_duration_seconds_count{method="GET",route="/api/2/calls/:id/"} 2',
  );
});

it.each([
  ["/calls", "/calls/"],
  ["/deployments", "/deployments/"],
  ["/agents/info", "/agents/info/"],
  ["/agents", "/agents/"],
  ["/api_keys", "/api_keys/"],
  ["/calls/auth/none", "/calls/auth/none/"],
  ["/deployments/call/none", "/deployments/call/none/"],
  ["/openapi.json", "/openapi.json/"],
])("answers %s and %s alike", async (without, slashed) => {
  const one = await api.send({ path: without });
  const other = await api.send({ path: slashed });
  expect([one.status, other.status]).toEqual([200, 200]);
  expect(one.text).toBe(other.text);
});

it.each(["", "/results", "/stats", "/stats/since", "/stats/before"])(
  "answers calls/<id>%s with and without its trailing slash",
  async (rest) => {
    const { id } = await createCall(api);
    const one = await api.send({ path: `/calls/${id}${rest}` });
    const other = await api.send({ path: `/calls/${id}${rest}/` });
    expect([one.status, other.status]).toEqual([200, 200]);
  },
);

it.each<[string, string]>([
  ["an unknown path", "/nothing/"],
  ["another version", "//api/3/calls/"],
  ["a path outside", "//elsewhere"],
  ["a parameter beyond all ids", `/calls/${"x".repeat(5000)}/`],
])("answers 404 to %s", async (_what, path) => {
  const answer = await api.send({ path });
  expect([answer.status, answer.body]).toEqual([404, { error_msg: "Path not found", error: 404 }]);
});

it.each<[NonNullable<Sent["method"]>, string, string]>([
  ["DELETE", "/calls/", "POST, PUT, GET, HEAD"],
  ["PATCH", "/calls/x/", "PUT, POST, DELETE, GET, HEAD"],
  ["GET", "/calls/x/run", "POST"],
  ["POST", "/agents/info", "GET, HEAD"],
  ["PUT", "/api_keys/x", "DELETE"],
  ["POST", "/openapi.json", "GET, HEAD"],
  ["POST", "//docs", "GET, HEAD"],
])("answers 405 to %s %s, naming what is allowed", async (method, path, allow) => {
  const answer = await api.send({ method, path });
  expect(answer.status).toBe(405);
  expect(answer.headers["allow"]).toBe(allow);
  expect(answer.body).toEqual({
    error_msg: `Method ${method} is not allowed here; allowed: ${allow}`,
    error: 405,
  });
});

const call = {
  meta: { name: "n" },
  request: { method: "GET", url: "http://a.test/" },
};

it.each<[string, number, string, unknown, Record<string, string>]>([
  [
    "more than 1 MiB",
    413,
    "The body is larger than 1048576 bytes (1 MiB)",
    `"${"x".repeat(1024 * 1024)}"`,
    {},
  ],
  [
    "another content type",
    415,
    "Content-Type 'text/plain' is not supported; send application/json",
    "hello",
    { "content-type": "text/plain" },
  ],
  [
    "a form",
    415,
    "Content-Type 'application/x-www-form-urlencoded' is not supported; send application/json",
    "a=1",
    { "content-type": "application/x-www-form-urlencoded" },
  ],
  [
    "a content type that is none",
    415,
    "The Content-Type is not supported; send application/json",
    "{}",
    { "content-type": "json" },
  ],
  [
    "compression",
    415,
    "Content-Encoding 'gzip' is not supported; send the body uncompressed",
    gzipSync("{}"),
    { "content-encoding": "gzip" },
  ],
  [
    "bad JSON",
    400,
    "the body is not valid JSON: Expected property name or '}' in JSON at position 1 (line 1 column 2)",
    "{",
    {},
  ],
  ["an array", 400, "body: [] is not of type object", [], {}],
  [
    "an object that is empty",
    400,
    "'meta.name' is a required property (and 2 other faults)",
    {},
    {},
  ],
  ["no body", 400, "'meta.name' is a required property (and 2 other faults)", "", {}],
  [
    "an id",
    400,
    "Additional properties are not allowed ('id' was unexpected)",
    { ...call, id: "x" },
    {},
  ],
  [
    "unknown properties",
    400,
    "Additional properties are not allowed ('a', 'b' were unexpected)",
    { ...call, a: 1, b: 2 },
    {},
  ],
  [
    "an unknown property further in",
    400,
    "Additional properties are not allowed ('x' was unexpected) in meta",
    { ...call, meta: { name: "n", x: 1 } },
    {},
  ],
  ["no name", 400, "'meta.name' is a required property", { ...call, meta: {} }, {}],
  [
    "a name of another type",
    400,
    "meta.name: 5 is not of type string",
    { ...call, meta: { name: 5 } },
    {},
  ],
  [
    "a flag in quotes",
    400,
    "access.org: 'true' is not of type boolean",
    { ...call, access: { org: "true" } },
    {},
  ],
  [
    "a URL of another scheme",
    400,
    "request.url: 'ftp://x' is not a valid http or https URL",
    { ...call, request: { method: "GET", url: "ftp://x" } },
    {},
  ],
  [
    "a fault in a list",
    400,
    "'request.headers[0].value' is a required property",
    { ...call, request: { ...call.request, headers: [{ key: "a" }] } },
    {},
  ],
  [
    "several faults",
    400,
    "Additional properties are not allowed ('id' was unexpected) (and 2 other faults)",
    { id: "x", meta: { name: 5 }, request: { method: "GET", url: "x" } },
    {},
  ],
])("refuses a body with %s", async (_what, status, error_msg, body, headers) => {
  const answer = await api.send({
    method: "POST",
    path: "/calls/",
    body,
    headers,
  });
  expect([answer.status, answer.body]).toEqual([status, { error_msg, error: status }]);
  const after = await api.send({
    method: "POST",
    path: "/calls/",
    body: call,
  });
  expect(after.status).toBe(201);
});

it("reads a body of nearly 1 MiB in reasonable time", async () => {
  const body = `{"a": "${"x".repeat(1024 * 1024 - 20)}"}`;
  const took = await undisturbed(async () => {
    const began = performance.now();
    const answer = await api.send({ method: "POST", path: "/calls/", body });
    expect(answer.body["error_msg"]).toBe(
      "Additional properties are not allowed ('a' was unexpected) (and 3 other faults)",
    );
    return performance.now() - began;
  });
  expect(took).toBeLessThan(2000);
});

it("accepts an empty body of any content type where none is needed", async () => {
  const { id } = await createCall(api);
  const answer = await api.send({
    method: "POST",
    path: `/calls/${id}/run`,
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "",
  });
  expect(answer.status).toBe(200);
});

it.each([
  ["a broken escape", "/calls/%zz/", 400],
  ["NUL in an id", "/calls/%00/", 404],
  ["NUL in a parameter", "/calls/?domain=%00", 400],
  ["dots", "/calls/..%2f..%2fetc/", 404],
  ["a parameter given twice", "/calls/?limit=1&limit=2", 400],
  ["an unknown parameter", "/calls/?color=%00", 200],
])("answers a path with %s: %s", async (_what, path, status) => {
  const answer = await api.send({ path });
  expect(answer.status).toBe(status);
  if (status !== 200) expect(answer.body["error"]).toBe(status);
});

it("answers HEAD like GET, without the body", async () => {
  const { id } = await createCall(api);
  const get = await api.send({ path: `/calls/${id}/` });
  const head = await api.send({ method: "HEAD", path: `/calls/${id}/` });
  expect([head.status, head.text]).toEqual([200, ""]);
  expect(head.headers["content-length"]).toBe(get.headers["content-length"]);
  const missing = await api.send({ method: "HEAD", path: "/calls/none/" });
  expect(missing.status).toBe(404);
});

it("pretty-prints with debug=1, errors too", async () => {
  await using api = await startApi();
  const list = await api.send({ path: "/calls/?debug=1" });
  expect(list.text).toBe(
    '{\n  "meta": {\n    "more": false,\n    "next_cursor": ""\n  },\n  "results": []\n}\n',
  );
  expect(list.headers["content-type"]).toBe("application/json; charset=utf-8");
  const error = await api.send({ path: "/nothing/?debug=1" });
  expect(error.text).toBe('{\n  "error_msg": "Path not found",\n  "error": 404\n}\n');
});

it("answers 500 without details, and logs the error once", async () => {
  await using api = await startApi();
  await api.store.close();
  const answer = await api.send({ path: "/calls/" });
  expect([answer.status, answer.body]).toEqual([500, { error_msg: "Internal error", error: 500 }]);
  expect(api.logged().match(/"level":"error"/g)).toHaveLength(1);
});
