// How exports are sent over real connections: whole or not at all.
import { once } from "node:events";
import { get } from "node:http";
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.ts";
import { createCall, startApi } from "../support/api.ts";
import type { Caller, TestApi } from "../support/api.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { aReport, aRun, T0 } from "../support/runs.ts";

/** More than connections buffer: 250 results of over 64 KiB each. */
const RESULTS = 250;
const header = { key: "X-Long", value: "x".repeat(64 * 1024) };

/** Starts a listening API, with a call whose export reaches only a caller who keeps reading. */
async function exporting(config: Parameters<typeof startApi>[0] = {}) {
  const api = await startApi(config);
  await api.api.start();
  const { id } = await createCall(api);
  const runs = Array.from({ length: RESULTS }, (_, n) =>
    aRun({ target_id: id, due_time: T0 + n * 60_000 }),
  );
  await api.store.pendingRuns.insert(runs);
  await api.store.results.record(
    runs.map((run) => {
      const report = aReport(run);
      const response = { status_code: 200, status_string: "OK", headers: [header] };
      return { ...report, results: report.results.map((result) => ({ ...result, response })) };
    }),
  );
  return { api, path: `/calls/${id}/results/export?format=ndjson` };
}

const bearer = ({ key }: Caller) => ({ authorization: `Bearer ${key}` });

/** Sends the request, and waits for the headers of the answer. */
async function begin(
  api: TestApi,
  path: string,
  headers: OutgoingHttpHeaders = bearer(api.ann),
): Promise<IncomingMessage> {
  const request = get(`${api.api.address()}/api/2${path}`, { headers, agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return response;
}

/** Returns how the answer ends: its number of lines, or the error that broke it off. */
const endOf = (response: IncomingMessage): Promise<number | string> =>
  text(response).then(
    (body) => body.split("\n").length - 1,
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  );

const statusOf = async (api: TestApi, path: string): Promise<number> =>
  (await api.send({ path, method: "HEAD" })).status;

const brokenOff = (api: TestApi): string[] =>
  api
    .logged()
    .split("\n")
    .filter((line) => line.includes("response aborted"));

it("sends all of a large export, and waits for a caller who is slow", async () => {
  const { api, path } = await exporting();
  await using _ = api;
  const response = await begin(api, path);
  // The API goes on answering while this export waits.
  expect((await api.send({ path: "/calls/" })).status).toBe(200);
  expect(await endOf(response)).toBe(RESULTS);
  expect(brokenOff(api)).toEqual([]);
});

it("breaks the connection when it fails midway, and logs why in one line", async () => {
  const { api, path } = await exporting();
  await using _ = api;
  const response = await begin(api, path);
  hideResults(api);
  expect(await endOf(response)).toBe("ECONNRESET");
  expect(brokenOff(api)).toHaveLength(1);
  expect(brokenOff(api)[0]).toContain("no such table: results");
});

it("ends within a minute after its key is revoked", async () => {
  const clock = createManualClock(systemClock.now());
  const { api, path } = await exporting({ clock });
  await using _ = api;
  const owner = await api.caller("ann");
  const response = await begin(api, path, bearer(owner));
  await api.store.apiKeys.revoke(owner.key_id, null, clock.now());
  await clock.advance(45_000);
  expect(await endOf(response)).toBe("ECONNRESET");
  expect(brokenOff(api)).toHaveLength(1);
  expect(brokenOff(api)[0]).toContain("the key was revoked");
});

it("keeps its session open, and ends within a minute after it", async () => {
  const clock = createManualClock(systemClock.now());
  const { api, path } = await exporting({ clock, config: { sessionIdleMs: 100_000 } });
  await using _ = api;
  const opened = await api.send({ method: "POST", path: "/session/" });
  const [cookie = ""] = String(opened.headers["set-cookie"]).split(";");
  const [whole, cut] = [await begin(api, path, { cookie }), await begin(api, path, { cookie })];
  await clock.advance(90_000);
  expect(await endOf(whole)).toBe(RESULTS);
  await clock.advance(20_000);
  const headers = { cookie, "sec-fetch-site": "same-origin" };
  expect((await api.send({ path: "/calls/", headers, as: null })).status).toBe(200);
  await api.send({ method: "DELETE", path: "/session/", headers, as: null });
  await clock.advance(45_000);
  expect(await endOf(cut)).toBe("ECONNRESET");
});

it("answers with an error when it fails before the first row", async () => {
  const { api, path } = await exporting();
  await using _ = api;
  hideResults(api);
  const response = await begin(api, path);
  expect([response.statusCode, response.headers["content-disposition"]]).toEqual([500, undefined]);
  expect(JSON.parse(await text(response))).toEqual({ error_msg: "Internal error", error: 500 });
});

/** Makes each further read of results fail. */
function hideResults({ database }: TestApi): void {
  const { location } = database;
  const file = new DatabaseSync("file" in location ? location.file : "");
  file.exec("alter table results rename to moved");
  file.close();
}

it("ends when the service stops, without waiting for the caller", async () => {
  const { api, path } = await exporting();
  await using _ = api;
  const response = await begin(api, path);
  await api.api.stop();
  expect(await endOf(response)).toBe("ECONNRESET");
  expect(brokenOff(api)).toEqual([]);
});

it("ends when a caller reads nothing for long", async () => {
  const { api, path } = await exporting({ config: { stalledAfterMs: 50 } });
  await using _ = api;
  const responses = [await begin(api, path), await begin(api, path)];
  await expect.poll(() => statusOf(api, path), { interval: 5 }).toBe(200);
  // At least one was broken off; the other may be read on if its time is not over.
  expect(await Promise.all(responses.map(endOf))).toContain("ECONNRESET");
});

// By default, nginx speaks it to what is behind it.
it.each([
  ["fails midway", async (api: TestApi) => hideResults(api)],
  ["is stopped with the service", async (api: TestApi) => api.api.stop()],
])("resets the connection of HTTP/1.0 when it %s", async (_case, end) => {
  const { api, path } = await exporting();
  await using _ = api;
  const { hostname, port } = new URL(String(api.api.address()));
  const socket = connect(Number(port), hostname);
  socket.write(
    `GET /api/2${path} HTTP/1.0\r\nHost: sonde\r\nAuthorization: Bearer ${api.ann.key}\r\n\r\n`,
  );
  await once(socket, "readable");
  await end(api);
  await expect(text(socket)).rejects.toThrow("ECONNRESET");
});

it("limits an owner to two at a time, and frees the place of a finished one", async () => {
  const { api, path } = await exporting();
  await using _ = api;
  const [first, second] = [await begin(api, path), await begin(api, path)];
  const refused = await api.send({ path });
  expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "10"]);
  expect(refused.body["error_msg"]).toMatch(/^2 of your exports are running/);
  first.destroy();
  await expect.poll(() => statusOf(api, path), { interval: 5 }).toBe(200);
  // Once read to its end, the other export also frees its place.
  expect(await endOf(second)).toBe(RESULTS);
  const [third, fourth] = [await begin(api, path), await begin(api, path)];
  expect([third.statusCode, fourth.statusCode]).toEqual([200, 200]);
});

it("allows eight at a time over all owners", async () => {
  const { api, path } = await exporting();
  await using _ = api;
  const id = path.split("/")[2] ?? "";
  const body = { access: { results: true } };
  await api.send({ method: "PUT", path: `/calls/${id}/`, body });
  for (let n = 0; n < 8; n += 1)
    expect((await begin(api, path, bearer(await api.caller(`owner ${n}`)))).statusCode).toBe(200);
  const refused = await api.send({ path });
  expect([refused.status, refused.body["error_msg"]]).toEqual([
    429,
    "8 exports are running, the maximum at a time",
  ]);
});

it("answers HEAD with the head alone", async () => {
  const { api, path } = await exporting();
  await using _ = api;
  const { status, text: body, headers } = await api.send({ path, method: "HEAD" });
  expect([status, body, headers["content-length"]]).toEqual([200, "", undefined]);
  expect(headers["content-type"]).toBe("application/x-ndjson");
});
