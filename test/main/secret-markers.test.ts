// Puts a marker into every secret: none shows in logs, metrics, traces, results, files or messages,
// anywhere, at the most verbose log level.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { AUTH_TYPES } from "../../src/model/auth-setting.ts";
import { RESOURCE_SCHEMAS } from "../../src/model/resources.ts";
import { secretPaths } from "../../src/model/secrets.ts";
import { httpClient, httpExchange } from "../support/client.ts";
import type { Client } from "../support/client.ts";
import { startCollector } from "../support/collector.ts";
import type { Collector } from "../support/collector.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { freePort } from "../support/free-port.ts";
import { makeFolder, runSonde, startSonde } from "../support/process.ts";
import type { SondeProcess } from "../support/process.ts";
import { markedBody } from "../support/secret-fields.ts";
import { migratedPostgres } from "../support/stores.ts";
import { startTarget } from "../support/target-server.ts";
import type { HttpTarget } from "../support/target-server.ts";

const MARKER = /m4rk3r[\w-]*/gi;
/** In the definition of a call, which the database holds in clear. */
const CLEAR = /m4rk3r-inline[\w-]*/gi;
const MASTER_KEY = "6d34726b33722d".padEnd(64, "6d");
const KEY = "m4rk3rKeyOfTheFirstOwner01234567";

const ENV = {
  SONDE_BOOTSTRAP_KEY: KEY,
  SONDE_MASTER_KEY: MASTER_KEY,
  SONDE_OTLP_HEADERS: "authorization=Bearer%20m4rk3r-collector",
  SONDE_LOG_LEVEL: "trace",
};

/** Answers with everything that it was sent. */
const startEcho = (): Promise<HttpTarget> =>
  startTarget((request, response) => {
    const { url, headers } = request;
    const sent = JSON.stringify({ url, headers });
    response.writeHead(url === "/token" ? 500 : 200, {
      "content-type": "application/json",
      "x-echo": sent.replaceAll(/[^\x20-\x7e]/g, "?"),
      "set-cookie": `session=${headers.authorization ?? "none"}`.replaceAll(/[;\s]/g, "_"),
    });
    response.end(sent);
  });

const idOf = async (client: Client, path: string, body: object): Promise<string> =>
  (await client.send<{ id: string }>("POST", path, body)).id;

const marked = (kind: "auth_setting" | "token" | "variable", of: string) =>
  markedBody(RESOURCE_SCHEMAS[kind], (path) => `m4rk3r-${of}-${path}-01234`.toLowerCase());

/** Expects every secret field, as the schema marks them, to hold a marker. */
function expectMarked(kind: "auth_setting" | "token" | "variable", made: unknown): void {
  const paths = secretPaths(RESOURCE_SCHEMAS[kind], made);
  expect(paths.length, kind).toBeGreaterThan(0);
  for (const path of paths) {
    const value = path.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], made);
    expect(JSON.stringify(value), path.join(".")).toMatch(MARKER);
  }
}

/** Creates a setting, a token, and a call that uses both. */
async function makeAuthorized(client: Client, target: HttpTarget, auth_type: string) {
  const { settings, ...rest } = marked("auth_setting", auth_type) as Record<string, object>;
  const { ssl_key: _, ...usable } = settings as Record<string, unknown>;
  const setting = {
    ...rest,
    meta: { name: auth_type, domain: "127.0.0.1" },
    keys: { client_id: "client", ...rest["keys"] },
    settings: {
      ...usable,
      auth_type,
      access_token_url: `${target.url}/token`,
      region: "eu-west-1",
      service: "s3",
      algorithm: auth_type.startsWith("OAUTH2_J") ? "HS256" : null,
    },
  };
  const madeSetting = await client.send<{ id: string }>("POST", "/auth/", setting);
  expectMarked("auth_setting", madeSetting);
  const token = {
    ...marked("token", auth_type),
    meta: { name: auth_type, auth_id: madeSetting.id },
  };
  const madeToken = await client.send<{ id: string }>("POST", "/tokens/", token);
  expectMarked("token", madeToken);
  return idOf(client, "/calls/", {
    meta: { name: `call ${auth_type}` },
    request: {
      method: "POST",
      url: `${target.url}/echo?api_key=m4rk3r-inline-query&v={{marked}}&c=%%MARKED%%`,
      headers: [{ key: "X-Api-Key", value: "m4rk3r-inline-header" }],
      body: '{"a":"%%CLIENT_SECRET%%","password":"m4rk3r-inline-body"}',
      auth_id: madeSetting.id,
      token_id: madeToken.id,
    },
  });
}

/** Provokes the errors that can happen while a secret is in hand. */
async function makeMistakes(api: string, client: Client, target: HttpTarget): Promise<string> {
  const wrong = httpExchange(api, "m4rk3r-wrong-key");
  const right = httpExchange(api, KEY);
  const bodies = [
    await wrong({ method: "GET", path: "/api/2/calls/" }),
    await right({
      method: "GET",
      path: "/api/2/calls/m4rk3r-inline-path/?_token=m4rk3r-query-key",
    }),
  ].map(({ text }) => text);
  const broken = await fetch(`${api}/api/2/auth/`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: '{"keys":{"client_secret":"m4rk3r-broken-json}',
  });
  bodies.push(await broken.text());
  await makeUnusable(client, target);
  return bodies.join("\n");
}

/** Creates a call whose key is invalid, and one whose token fails to renew. */
async function makeUnusable(client: Client, target: HttpTarget): Promise<void> {
  const settings = [
    { auth_type: "BASIC", ssl_key: "m4rk3r-not-a-private-key" },
    { auth_type: "OAUTH2", access_token_url: `${target.url}/token` },
  ];
  for (const each of settings) {
    const auth_id = await idOf(client, "/auth/", {
      meta: { name: each.auth_type, domain: "127.0.0.1" },
      keys: { client_id: "client", client_secret: "m4rk3r-unusable-secret" },
      settings: each,
    });
    const token = { grant_type: "client_credentials", password: "m4rk3r-renewal-password" };
    const token_id = each.access_token_url
      ? await idOf(client, "/tokens/", { meta: { name: "never issued", auth_id }, token })
      : null;
    const call = await idOf(client, "/calls/", {
      meta: { name: "unusable" },
      request: { method: "GET", url: target.url, auth_id, token_id },
    });
    await client.send("POST", `/calls/${call}/run`, {});
  }
}

/** Runs all calls; returns what the API says of all their results. */
async function runAll(client: Client, target: HttpTarget) {
  await client.send("POST", "/environment/global/marked", { value: "m4rk3r-environment-value" });
  const calls: string[] = [];
  for (const type of AUTH_TYPES) calls.push(await makeAuthorized(client, target, type));
  const workflow = await idOf(client, "/workflows/", {
    meta: { name: "all" },
    workflow: { call_ids: calls },
  });
  await client.send("POST", `/workflows/${workflow}/run`, {});
  for (const id of calls) await client.send("POST", `/calls/${id}/run`, {});
  const texts: string[] = [];
  const codes: string[] = [];
  for (const id of calls) {
    await expect.poll(async () => (await client.ended(id)).length).toBe(2); // its own, the workflow's
    const results = await client.ended(id);
    for (const result of results) {
      codes.push(result.meta.result);
      texts.push(JSON.stringify(await client.send("GET", `/results/${result.id}/`)));
      texts.push(
        JSON.stringify(await client.send("GET", `/results/${result.id}/content`).catch(String)),
      );
    }
  }
  expect(codes).toHaveLength(2 * AUTH_TYPES.length);
  expect(codes.filter((code) => code === "COMPLETE").length).toBeGreaterThanOrEqual(10);
  // The body of a definition is shown as it was sent, except for what was filled in.
  return { calls, text: texts.join("\n").replaceAll("m4rk3r-inline-body", "") };
}

function expectNone(places: Readonly<Record<string, string>>): void {
  for (const [place, text] of Object.entries(places)) {
    expect(text.length, place).toBeGreaterThan(0);
    expect([place, text.match(MARKER)]).toEqual([place, null]);
    expect(text.includes(MASTER_KEY), place).toBe(false);
  }
}

/** Returns the contents of every file below a folder. */
function bytesOf(folder: string): string {
  if (!existsSync(folder)) return "";
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile() && !path.endsWith("-key"))
    .map((path) => readFileSync(path, "latin1"))
    .join("\n");
}

const metricsOf = async (sonde: SondeProcess): Promise<string> =>
  (await fetch(`${await sonde.ops()}/metrics`)).text();

/**
 * Expects the trace of a call's run: one root, the phases within their call, and the parts of each
 * role.
 */
function expectTrace(collector: Collector, callId: string): void {
  const spans = collector.spans();
  const call = spans.find(
    ({ attributes }) => attributes["sonde.call_id"] === callId && attributes["http.request.method"],
  );
  const trace = spans.filter(({ traceId }) => traceId === call?.traceId);
  const ids = new Set(trace.map(({ spanId }) => spanId));
  const roots = trace.filter(({ parentSpanId }) => parentSpanId === undefined);
  expect(roots.map(({ name }) => name)).toEqual(["dispatch"]);
  for (const { parentSpanId } of trace) if (parentSpanId) expect(ids).toContain(parentSpanId);
  const roles = trace.map(({ attributes }) => attributes["sonde.role"]).filter(Boolean);
  expect(roles).toEqual(expect.arrayContaining(["api", "agent", "aggregator"]));
  const [start, end] = [call?.start ?? 0, call?.end ?? 0];
  const phases = trace.filter(({ parentSpanId }) => parentSpanId === call?.spanId);
  expect(phases.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["tcp", "upload", "processing", "download"]),
  );
  for (const phase of phases) {
    expect(phase.start).toBeGreaterThanOrEqual(start);
    expect(phase.end).toBeLessThanOrEqual(end + 0.01);
  }
  const record = trace.find(({ name }) => name === "record");
  expect(record?.end).toBeGreaterThanOrEqual(record?.start ?? Infinity);
}

it("no secret shows in one process, with the log for people", { timeout: 120_000 }, async () => {
  await using target = await startEcho();
  await using collector = await startCollector();
  using folder = makeFolder();
  const env = {
    ...ENV,
    SONDE_LOG_FORMAT: "pretty",
    SONDE_OTLP_URL: collector.target.url,
    SONDE_EGRESS_ALLOW: target.authority,
  };
  await using sonde = startSonde(["serve"], { env, folder: folder.path });
  const shown = (): string => sonde.stdout();
  await expect.poll(shown, { timeout: 60_000 }).toContain("Sonde is at");
  const [, api = ""] = /Sonde is at +(\S+?)\/\s/.exec(shown()) ?? [];
  const [, ops = ""] = /health, metrics +(\S+)\/readyz/.exec(shown()) ?? [];
  const client = httpClient(api, KEY);
  const mistakes = await makeMistakes(api, client, target);
  const { calls, text } = await runAll(client, target);
  await expect.poll(shown, { timeout: 20_000 }).toContain("token not renewed");
  const metrics = await (await fetch(`${ops}/metrics`)).text();
  expect(metrics).toContain("sonde_tracing_dropped_spans_total 0");
  await sonde.stop();
  expectTrace(collector, calls[0] ?? "");
  expect(collector.target.requests[0]?.headers.authorization).toBe("Bearer m4rk3r-collector");
  expectNone({
    log: `${shown()}\n${sonde.stderr()}.`,
    metrics,
    results: text,
    mistakes,
    traces: collector.target.requests.map(({ body }) => body).join("\n"),
    files: bytesOf(folder.dataDir).replaceAll(CLEAR, ""),
  });
});

it("no secret shows in several processes, with the log in JSON", { timeout: 180_000 }, async () => {
  await using target = await startEcho();
  await using collector = await startCollector();
  using folder = makeFolder();
  const storeDir = join(folder.path, "nats");
  const config = 'authorization { user: "sonde", password: "m4rk3r-nats-password" }';
  await using nats = await startNatsServer({ config, storeDir });
  const natsUrl = nats.url.replace("//", "//sonde:m4rk3r-nats-password@");
  const env = {
    ...ENV,
    SONDE_DATABASE_URL: await migratedPostgres(),
    SONDE_NATS_URL: natsUrl,
    SONDE_OTLP_URL: collector.target.url,
    SONDE_EGRESS_ALLOW: target.authority,
  };
  const start = (roles: string): SondeProcess => startSonde(["serve", "--roles", roles], { env });
  await using hub = start("api,scheduler");
  await using aggregator = start("aggregator");
  await using agent = start("agent");
  const processes = [hub, aggregator, agent];
  await Promise.all(processes.map((each) => each.ready()));
  const client = httpClient(await hub.api(), KEY);
  const mistakes = await makeMistakes(await hub.api(), client, target);
  const { calls, text } = await runAll(client, target);
  await hub.logged(({ msg }) => msg === "token not renewed");
  const metrics = (await Promise.all(processes.map(metricsOf))).join("\n");
  const messages = bytesOf(storeDir);
  for (const each of processes) await each.stop();
  expectTrace(collector, calls[0] ?? "");
  const senders = new Set(collector.spans().map(({ resource }) => resource["sonde.roles"]));
  expect(senders).toEqual(new Set(["api,scheduler", "aggregator"]));
  expectNone({
    log: processes.map((each) => each.stdout() + each.stderr()).join("\n"),
    metrics,
    results: text,
    mistakes,
    traces: collector.target.requests.map(({ body }) => body).join("\n"),
    messages,
  });
});

it.each([
  ["PostgreSQL", (at: string) => ({ SONDE_DATABASE_URL: `postgres://me:m4rk3r-password@${at}/x` })],
  ["NATS", (at: string) => ({ SONDE_NATS_URL: `nats://me:m4rk3r-password@${at}` })],
  ["the collector", (at: string) => ({ SONDE_OTLP_URL: `http://me:m4rk3r-password@${at}` })],
])("no secret shows in the error of a start without %s", async (_, settings) => {
  const env = { ...ENV, ...settings(`127.0.0.1:${await freePort()}`) };
  const { stdout, stderr } = await runSonde(["serve"], { env });
  expectNone({ output: stdout + stderr });
});
