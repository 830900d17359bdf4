// The API behind proxies: which client addresses it records, and by which URL it names itself.
import { expect, it } from "vitest";
import { sharedApi, startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";

const WRONG = "W".repeat(32);
const PROXY = "10.1.2.3";
const MANY = 700;

/** Returns the address recorded for a failed sign-in. */
async function signedInFrom(api: TestApi, remoteAddress: string, forwardedFor: string) {
  await signIn(api, WRONG, remoteAddress, forwardedFor);
  const [entry] = await api.store.audit.list({ limit: 1 });
  return entry?.address;
}

const signIn = async ({ api }: TestApi, key: string, remoteAddress: string, forwarded: string) =>
  (
    await api.app.inject({
      url: "/api/2/calls/",
      headers: { authorization: `Bearer ${key}`, "x-forwarded-for": forwarded },
      remoteAddress,
    })
  ).statusCode;

it.each([
  ["a trusted proxy's client", ["10.0.0.0/8"], "203.0.113.9", "203.0.113.9"],
  ["the client in front of two", ["10.0.0.0/8"], "203.0.113.9, 10.9.9.9", "203.0.113.9"],
  [
    "the client, not the address that it claims",
    ["10.0.0.0/8"],
    "192.0.2.1, 203.0.113.9",
    "203.0.113.9",
  ],
  ["the proxy itself, if another is trusted", ["10.1.2.4"], "203.0.113.9", PROXY],
  ["the client of one proxy", 1, "192.0.2.1, 203.0.113.9", "203.0.113.9"],
  ["the client of two proxies", 2, "192.0.2.1, 203.0.113.9, 192.0.2.7", "203.0.113.9"],
  ["a client with a port", 1, "203.0.113.9:52100", "203.0.113.9"],
  ["an IPv6 client with a port", 1, "[2001:db8::9]:52100", "2001:db8::9"],
  ["the proxy, if the entry is no address", 1, "<script>", PROXY],
  ["the proxy, by default", undefined, "203.0.113.9", PROXY],
])("records %s", async (_, trustProxy, forwardedFor, client) => {
  await using api = await startApi({ config: { ...(trustProxy && { trustProxy }) } });
  expect(await signedInFrom(api, PROXY, forwardedFor)).toBe(client);
});

it("limits failed sign-ins by client, not by proxy or forged address", async () => {
  await using api = await startApi({ config: { trustProxy: [PROXY] } });
  const last = { status: 0 };
  for (let n = 0; n < MANY; n += 1)
    last.status = await signIn(api, WRONG, PROXY, `192.0.2.${n % 250}, 203.0.113.9`);
  expect(last.status).toBe(429);
  expect(await signIn(api, WRONG, PROXY, "203.0.113.10")).toBe(401);
  expect(await signIn(api, api.ann.key, PROXY, "203.0.113.9")).toBe(200);
});

it("does not let a client escape the limit by headers where no proxy is trusted", async () => {
  await using api = await startApi();
  const last = { status: 0 };
  for (let n = 0; n < MANY; n += 1)
    last.status = await signIn(api, WRONG, "203.0.113.9", `192.0.2.${n % 250}`);
  expect(last.status).toBe(429);
});

const publicUrl = "https://monitoring.example.com/sonde";
const api = sharedApi();

it("names its public URL wherever it names itself", async () => {
  await using renamed = await startApi({ config: { publicUrl } });
  const { body: document } = await renamed.send({ path: "/openapi.json" });
  expect(document["servers"]).toEqual([
    { url: publicUrl, description: expect.any(String) },
    { url: "/", description: expect.any(String) },
  ]);
  expect((await renamed.send({ path: "//" })).body).toMatchObject({
    api: `${publicUrl}/api/2/`,
    openapi: `${publicUrl}/api/2/openapi.json`,
    docs: `${publicUrl}/docs`,
  });
  const { headers } = await renamed.send({ path: "//api/2/", headers: { accept: "text/html" } });
  expect(headers["location"]).toBe(`${publicUrl}/docs`);
  const { text: page } = await renamed.send({ path: "//docs" });
  expect(page).toContain('src="/sonde/docs/static/swagger-ui-bundle.js"');
});

it("never repeats a forged host in an answer", async () => {
  const forged = { host: "evil.example", "x-forwarded-host": "evil.example" };
  for (const path of ["//", "/openapi.json", "//docs"]) {
    const { text, headers } = await api.send({ path, headers: { ...forged, accept: "text/html" } });
    expect(text + JSON.stringify(headers)).not.toContain("evil.example");
  }
});
