import { lookup } from "node:dns/promises";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseEgressAllow } from "../../src/net/egress.ts";
import { createHostResolver } from "../../src/net/resolve-host.ts";
import type { ResolverSettings } from "../../src/net/resolve-host.ts";
import { askForToken } from "../../src/renewal/token-endpoint.ts";
import type { TokenNetwork } from "../../src/renewal/token-endpoint.ts";
import type { TokenRequest } from "../../src/renewal/token-request.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { startBlackHole } from "../support/black-hole.ts";
import { createCertificates } from "../support/certificates.ts";
import { startNameServer } from "../support/name-server.ts";
import type { Answer } from "../support/name-server.ts";
import {
  answering as answeringRaw,
  endless,
  startRawTarget,
  startTarget,
} from "../support/target-server.ts";
import { undisturbed } from "../support/undisturbed.ts";
import { answering } from "./renewing.ts";

const REFUSED = "the address of the token endpoint is neither public nor in SONDE_EGRESS_ALLOW";

const NO_ADDRESS =
  "the name of the token endpoint has no address, or none that SONDE_EGRESS_ALLOW allows";

const resolverOf = (settings: Partial<ResolverSettings> = {}) =>
  createHostResolver({
    clock: systemClock,
    hostsFile: "/nowhere",
    ...settings,
  });

const ask = (
  origin: string,
  { allow = ["localhost"], ...network }: { allow?: string[] } & Partial<TokenNetwork> = {},
  more: Partial<TokenRequest> = {},
) =>
  askForToken(
    {
      method: "POST",
      url: new URL(`${origin}/token?key=hush`),
      headers: {},
      body: "",
      secrets: [],
      ...more,
    },
    { egress: parseEgressAllow(allow), resolver: resolverOf(), version: "1.2.3", ...network },
  );

it.each([
  ["127.0.0.1:80", REFUSED],
  ["127.0.0.1", "the token endpoint cannot be reached (ECONNREFUSED)"],
])("treats port 0 like any other if %s is allowed", async (allow, reason) => {
  expect(await ask("http://127.0.0.1:0", { allow: [allow] })).toEqual({
    reason,
  });
});

it("presents the client certificate to an endpoint that requires one", async () => {
  const { authority, good } = createCertificates();
  const usual = getCACertificates("default");
  setDefaultCACertificates([...usual, authority.cert]);
  onTestFinished(() => setDefaultCACertificates(usual));
  const tls = { ...good, ca: authority.cert, requestCert: true, rejectUnauthorized: true };
  await using target = await startTarget(answering({ access_token: "new" }), { tls });
  const network = { allow: ["127.0.0.1"] };
  const clientCertificate = { cert: good.cert, key: good.key };
  expect(await ask(target.url, network)).toHaveProperty("reason");
  expect(await ask(target.url, network, { clientCertificate })).toEqual({
    answer: { access_token: "new" },
  });
});

it("names Sonde to the endpoint", async () => {
  await using target = await startTarget(answering({ access_token: "new" }));
  await ask(target.url, { allow: ["127.0.0.1"] });
  expect(target.requests[0]?.headers["user-agent"]).toBe("Sonde/1.2.3");
});

const NO_JSON = { reason: "the token endpoint answered with something other than JSON" };

it.each([
  ["is read", gzipSync('{"access_token":"new"}'), { answer: { access_token: "new" } }],
  ["that is cut short is not", gzipSync('{"access_token":"new"}').subarray(0, -8), NO_JSON],
  ["that expands beyond the limit is not", gzipSync(" ".repeat(300 * 1024) + "{}"), NO_JSON],
])("an answer that is compressed unasked %s", async (_, content, expected) => {
  await using target = await startTarget((_request, response) =>
    response.writeHead(200, { "content-encoding": "gzip" }).end(content),
  );
  expect(await ask(target.url, { allow: ["127.0.0.1"] })).toEqual(expected);
});

it.each([
  ["follows 100 Continue unasked", `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n`],
  ["has folded headers", `HTTP/1.1 200 OK\r\nX-A: a\n b\r\n`],
])("an answer that %s is read", async (_, head) => {
  await using target = await startRawTarget(answeringRaw(`${head}\r\n{"access_token":"new"}`));
  expect(await ask(target.url)).toEqual({ answer: { access_token: "new" } });
});

const NO_HTTP = "the token endpoint answered with something other than HTTP/1.1";
const TOO_LARGE = "the token endpoint sent more than Sonde reads";
const CUT_OFF = "the token endpoint closed the connection before its answer was complete";

it.each([
  ["is not HTTP", "SSH-2.0-OpenSSH_9.2\r\n", NO_HTTP],
  [
    "has two lengths",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    NO_HTTP,
  ],
  ["never comes", "", CUT_OFF],
  ["is cut off", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", CUT_OFF],
  ["has a large head", `HTTP/1.1 200 OK\r\nX-A: ${"a".repeat(20_000)}\r\n\r\n{}`, TOO_LARGE],
])("says so if the answer %s", async (_, answer, reason) => {
  await using target = await startRawTarget(answeringRaw(answer));
  expect(await ask(target.url)).toEqual({ reason });
});

it("reads no more than the limit, however the answer is framed", async () => {
  let socket: Socket | undefined;
  const start = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;";
  await using target = await startRawTarget((accepted) => {
    socket = accepted;
    endless(start, "e".repeat(64 * 1024))(accepted);
  });
  expect(await ask(target.url)).toEqual({
    reason: TOO_LARGE,
  });
  expect(socket?.bytesWritten).toBeLessThan(20 * 1024 * 1024);
});

describe("the name of a token endpoint", () => {
  const NEW = { access_token: "new" };

  it.each<[string, Answer, string]>([
    ["does not exist", "NXDOMAIN", NO_ADDRESS],
    ["has no address", [], NO_ADDRESS],
    ["cannot be looked up", "SERVFAIL", "the token endpoint cannot be reached (dns_failure)"],
    ["leads inside", ["127.0.0.1", "::1"], NO_ADDRESS],
  ])("that %s is reported as the reason", async (_, answer, reason) => {
    await using server = await startNameServer(() => answer);
    const resolver = resolverOf({ servers: [server.address] });
    expect(await ask("http://a.example", { resolver, allow: [] })).toEqual({
      reason,
    });
  });

  it("leads to the allowed address", async () => {
    await using target = await startTarget(answering(NEW));
    await using server = await startNameServer(() => ["127.0.0.2", "127.0.0.1", "::1"]);
    const resolver = resolverOf({ servers: [server.address] });
    const answer = await ask(`http://a.example:${target.port}`, {
      resolver,
      allow: ["127.0.0.1"],
    });
    expect(answer).toEqual({ answer: NEW });
  });

  it("is not abandoned at an address that takes over a quarter of a second to accept", async () => {
    await using hole = await startBlackHole();
    const resolver = { resolve: async () => ["127.0.0.1", "::1"] };
    const answer = await ask(`http://a.example:${hole.port}`, { resolver, timeoutMs: 1000 });
    expect(answer).toEqual({ reason: "the token endpoint did not answer within 1 s" });
  });

  it("may be localhost, in the hosts file or of the local network", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sonde-hosts-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const hostsFile = join(folder, "hosts");
    writeFileSync(hostsFile, "127.0.0.1 idp.test\n");
    await using target = await startTarget(answering(NEW));
    await using server = await startNameServer(() => "NXDOMAIN");
    const resolver = resolverOf({
      servers: [server.address],
      hostsFile,
      system: async (name) => (name === "idp" ? [{ address: "127.0.0.1", family: 4 }] : []),
    });
    for (const host of ["localhost", "idp.test", "idp"])
      expect(await ask(`http://${host}:${target.port}`, { resolver })).toEqual({
        answer: NEW,
      });
  });

  it("with a silent name server delays no other endpoint and no other lookup", async () => {
    await using target = await startTarget(answering(NEW));
    await using server = await startNameServer((name) =>
      name.startsWith("slow") ? "silence" : ["127.0.0.1"],
    );
    const resolver = resolverOf({ servers: [server.address] });
    const timed = async <T>(work: Promise<T>) => {
      const began = performance.now();
      return { got: await work, took: performance.now() - began };
    };
    const { slow, other, own } = await undisturbed(async () => {
      const before = server.questions.length;
      const waiting = Array.from({ length: 10 }, (_, at) =>
        timed(
          ask(`${at < 5 ? "http" : "https"}://slow${at}.example`, {
            resolver,
            timeoutMs: 600,
          }),
        ),
      );
      const asked = () => new Set(server.questions.slice(before)).size;
      await expect.poll(asked).toBeGreaterThanOrEqual(10);
      return {
        other: await timed(ask(`http://a.example:${target.port}`, { resolver })),
        own: await timed(lookup("localhost")),
        slow: await Promise.all(waiting),
      };
    });
    expect(other.got).toEqual({ answer: NEW });
    expect(other.took).toBeLessThan(300);
    expect(own.took).toBeLessThan(300);
    for (const { got, took } of slow) {
      expect(got).toEqual({
        reason: "the token endpoint did not answer within 0.6 s",
      });
      expect(took).toBeLessThan(900);
    }
  });
});
