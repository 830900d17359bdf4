import { once } from "node:events";
import { Agent, request } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { createCall, startApi } from "../support/api.ts";
import type { List, TestApi } from "../support/api.ts";
import { freePort } from "../support/free-port.ts";
import { answerTo, closedBeyond, MOST_SENT, sendEndlessly } from "../support/hostile-client.ts";

const authorized = ({ ann }: TestApi): RequestInit => ({
  headers: { authorization: `Bearer ${ann.key}` },
});

async function listening(api: TestApi): Promise<string> {
  await api.api.start();
  return api.api.address() as string;
}

it("listens on the address it reports, until stopped", async () => {
  await using api = await startApi({ config: { port: await freePort() } });
  expect(api.api.address()).toBeUndefined();
  const address = await listening(api);
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(api.logged()).toContain(`"address":"${address}"`);
  const response = await fetch(`${address}/api/2/calls/`, authorized(api));
  expect(response.status).toBe(200);
  await response.body?.cancel();
  await api.api.stop();
  expect(api.api.address()).toBeUndefined();
  await expect(fetch(address)).rejects.toThrow("fetch failed");
});

it("names the port in use and the setting to choose another", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  try {
    await using api = await startApi({ config: { port } });
    await expect(api.api.start()).rejects.toThrow(
      `the API cannot listen on 127.0.0.1:${port}: the port is in use; choose another with SONDE_PORT`,
    );
  } finally {
    taken.close();
  }
});

it("answers requests that wait for a run before it stops", async () => {
  await using api = await startApi();
  const { id } = await createCall(api);
  const address = await listening(api);
  const waiting = fetch(`${address}/api/2/calls/${id}/run?wait=60`, {
    ...authorized(api),
    method: "POST",
  });
  const page = { after: "", limit: 1 };
  await expect.poll(() => api.store.pendingRuns.listOfTarget(id, page)).toHaveLength(1);
  await api.api.stop();
  const response = await waiting;
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ call_id: id });
});

it("stops as soon as requests under way are answered, on connections that stay open", async () => {
  await using api = await startApi({ config: { stopGraceMs: 120_000 } });
  const { hostname, port } = new URL(await listening(api));
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const body = JSON.stringify({
    meta: { name: "a" },
    request: { method: "GET", url: "http://a.test/" },
  });
  const begun = once(api.api.app.server, "request");
  const sent = request({
    hostname,
    port,
    agent,
    method: "POST",
    path: "/api/2/calls/",
    headers: {
      authorization: `Bearer ${api.ann.key}`,
      "content-type": "application/json",
      "content-length": body.length,
    },
  });
  sent.write(body.slice(0, 10));
  await begun;
  const stopped = api.api.stop();
  await expect.poll(() => api.api.app.server.listening).toBe(false);
  sent.end(body.slice(10));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  expect(response.statusCode).toBe(201);
  response.resume();
  await stopped;
});

it.each([
  ["without a body", {}, undefined],
  ["after a body", { "content-type": "application/json" }, "{}"],
])("stops waiting for a run when the caller disconnects %s", async (_, headers, body) => {
  await using api = await startApi();
  const { id } = await createCall(api);
  const address = await listening(api);
  const gone = new AbortController();
  const waiting = fetch(`${address}/api/2/calls/${id}/run?wait=60`, {
    method: "POST",
    headers: { authorization: `Bearer ${api.ann.key}`, ...headers },
    ...(body !== undefined && { body }),
    signal: gone.signal,
  });
  const page = { after: "", limit: 1 };
  await expect.poll(() => api.store.pendingRuns.listOfTarget(id, page)).toHaveLength(1);
  gone.abort();
  await expect(waiting).rejects.toThrow("aborted");
  await expect.poll(() => api.logged()).toMatch(/calls\/:id\/run","status":499/);
});

it.each([
  ["no HTTP at all", "hello\r\n\r\n", 400, "The request is not valid HTTP"],
  [
    "headers without end",
    `GET / HTTP/1.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
    431,
    "The headers are too large",
  ],
  [
    "a request without a host",
    "GET /api/2/calls/ HTTP/1.1\r\n\r\n",
    400,
    "The request has no Host header",
  ],
  [
    "two lengths",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
    400,
    "The request is not valid HTTP",
  ],
])("answers %s in the shape of its errors", async (_what, sent, status, error_msg) => {
  await using api = await startApi();
  const { port } = new URL(await listening(api));
  const socket = connect(Number(port), "127.0.0.1");
  socket.write(sent);
  const answer = await text(socket);
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(JSON.parse(answer.split("\r\n\r\n")[1] ?? "")).toEqual({
    error_msg,
    error: status,
  });
});

it.each([
  ["ends", "end"],
  ["breaks off", "resetAndDestroy"],
] as const)(
  "discards a body whose connection %s half way, without logging an error",
  async (_what, leave) => {
    await using api = await startApi();
    const { port } = new URL(await listening(api));
    const socket = connect(Number(port), "127.0.0.1");
    const body = '{"meta": {"name": "a call"}, "request": {}';
    socket.write(
      `POST /api/2/calls/ HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${api.ann.key}\r\n` +
        `Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n${body}`,
    );
    await once(api.api.app.server, "request");
    const closed = once(socket, "close");
    socket.resume();
    socket[leave]();
    await closed;
    const list = await api.send<List>({ path: "/calls/" });
    expect([list.status, list.body.results]).toEqual([200, []]);
    expect(api.logged()).not.toContain('"level":"error"');
  },
);

describe("a client that sends too much", () => {
  it.each([
    ["without a key", "POST /api/2/calls/", 401],
    ["to an unknown path", "POST /nowhere", 404],
    ["by a method that is not allowed", "DELETE /api/2/calls/", 405],
    ["with a request that takes no body", "GET /api/2/openapi.json", 200],
    ["with a request for a page", "GET /docs/static/index.html", 302],
    ["to a path that is not valid", "POST /%zz", 400],
    ["to a path that is too long", `POST /api/2/calls/${"x".repeat(2000)}/`, 404],
    ["with an expectation", "POST /api/2/calls/", 417, "Expect: more\r\n"],
  ])("%s gets an answer, and its connection is closed", async (_what, start, status, headers?) => {
    await using api = await startApi();
    const { port } = new URL(await listening(api));
    const { answer, sent } = await sendEndlessly(Number(port), start, headers);
    expect(answer).toContain("x-content-type-options: nosniff\r\n");
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(sent).toBeLessThan(MOST_SENT);
  });

  it("may continue after a short unread body", async () => {
    await using api = await startApi();
    const { port } = new URL(await listening(api));
    const request = "POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n";
    const answer = await answerTo(
      Number(port),
      `${request}\r\n{}${request}Connection: close\r\n\r\n{}`,
    );
    expect(answer.match(/HTTP\/1.1 404 /g)).toHaveLength(2);
  });

  it("has no connection beyond the limit", async () => {
    await using api = await startApi({ config: { maxConnections: 2 } });
    const { port } = new URL(await listening(api));
    expect(await closedBeyond(Number(port), 2)).toBe(true);
  });
});

describe("a request that does not arrive in time", () => {
  it.each([
    ["nothing", ""],
    ["half a head", "GET / HTTP/1.1\r\nHost: a\r\n"],
    [
      "half a body",
      "POST /api/2/calls/ HTTP/1.1\r\nHost: a\r\nX-Api-Key: KEY\r\n" +
        "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
    ],
  ])("ends with 408 after %s", async (_what, sent) => {
    await using api = await startApi({ config: { requestTimeoutMs: 300 } });
    const { port } = new URL(await listening(api));
    const answer = await answerTo(Number(port), sent.replace("KEY", api.ann.key));
    expect(answer).toMatch(/^HTTP\/1.1 408 /);
  });

  it("ends after 25 s by default", async () => {
    await using api = await startApi();
    const { requestTimeout, headersTimeout } = api.api.app.server;
    expect([requestTimeout, headersTimeout]).toEqual([25_000, 25_000]);
  });
});

describe("caching and type sniffing", () => {
  it.each([
    ["an answer with a key", "/calls/", {}, 200, "no-store"],
    ["an answer without a key", "/calls/", { as: null }, 401, "no-store"],
    ["an unknown path", "/nowhere", {}, 404, "no-store"],
    ["the OpenAPI document, unless it is checked", "/openapi.json", {}, 200, "no-cache"],
  ])("are forbidden for %s", async (_what, path, sent, status, caching) => {
    await using api = await startApi();
    const answer = await api.send({ path, ...sent });
    expect(answer).toMatchObject({
      status,
      headers: { "cache-control": caching, "x-content-type-options": "nosniff" },
    });
  });

  it("are forbidden for invalid HTTP", async () => {
    await using api = await startApi();
    const { port } = new URL(await listening(api));
    const answer = await answerTo(Number(port), "hello\r\n\r\n");
    expect(answer).toContain("cache-control: no-store\r\nx-content-type-options: nosniff\r\n");
  });
});

it.each(["/docs", "/docs/static/swagger-initializer.js", "/docs/unknown"])(
  "no other site can frame %s",
  async (path) => {
    await using api = await startApi();
    const { headers } = await fetch(`${await listening(api)}${path}`);
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  },
);

it("stops at once despite idle keep-alive connections", async () => {
  await using api = await startApi();
  const { port } = new URL(await listening(api));
  const socket = connect(Number(port), "127.0.0.1");
  socket.write("GET /api/2/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n");
  await once(socket, "data");
  const closed = once(socket, "close");
  socket.resume();
  await api.api.stop();
  expect(await closed, "closed without an error").toEqual([false]);
  expect(api.api.address()).toBeUndefined();
});

const A_POST = "POST /api/2/session/ HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
it.each([
  ["half a head", () => "GET /api/2/ca"],
  ["half a body", (key: string) => `${A_POST}X-Api-Key: ${key}\r\nContent-Length: 9\r\n\r\n{`],
  [
    "requests, and reads nothing",
    () => "GET /api/2/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n".repeat(50),
  ],
])("stops although a caller has sent %s", async (_what, sent) => {
  await using api = await startApi({ config: { stopGraceMs: 100 } });
  const { port } = new URL(await listening(api));
  const accepted = once(api.api.app.server, "connection") as Promise<Socket[]>;
  const socket = connect(Number(port), "127.0.0.1").on("error", () => undefined);
  try {
    socket.write(sent(api.ann.key));
    const [connection] = await accepted;
    await expect.poll(() => connection?.bytesRead).toBeGreaterThan(0);
    await api.api.stop();
    expect(api.api.address()).toBeUndefined();
  } finally {
    socket.destroy();
  }
});

it.each(["/", "/api/2/", "/api/2"])(
  "tells a program at %s where the interface is",
  async (path) => {
    await using api = await startApi({ config: { version: "1.2.3" } });
    const program = await api.send({ path: `/${path}`, as: null, headers: { accept: "*/*" } });
    expect([program.status, program.body]).toEqual([
      200,
      {
        name: "Sonde",
        version: "1.2.3",
        api: "/api/2/",
        openapi: "/api/2/openapi.json",
        docs: "/docs",
      },
    ]);
    expect(program.headers["vary"]).toBe("accept");
    const refused = await api.send({ method: "POST", path: `/${path}`, body: {} });
    expect([refused.status, refused.headers["allow"]]).toEqual([405, "GET, HEAD"]);
  },
);

it.each(["/api/2/", "/api/2"])("leads a browser from %s to the documentation", async (path) => {
  await using api = await startApi();
  const accept = "text/html,application/xhtml+xml,*/*;q=0.8";
  const browser = await api.send({ path: `/${path}`, as: null, headers: { accept } });
  expect([browser.status, browser.headers["location"]]).toEqual([302, "/docs"]);
  expect(browser.headers["vary"]).toBe("accept");
});
