import type { RequestListener } from "node:http";
import type { TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import { DEFAULT_BEHAVIOUR } from "../../../src/model/behaviour.ts";
import { parseEgressAllow } from "../../../src/net/egress.ts";
import { createHttpCaller } from "../../../src/agent/http/http-call.ts";
import type { HttpRequest } from "../../../src/agent/http/http-request.ts";
import { redirectedRequest } from "../../../src/agent/http/redirect.ts";
import type { KeyValue } from "../../../src/model/fields.ts";
import type { TickCall } from "../../../src/model/tick.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { createCertificates } from "../../support/certificates.ts";
import { startTarget } from "../../support/target-server.ts";
import { undisturbed } from "../../support/undisturbed.ts";
import { call, codeOf, requestOf, statusOf, timingOfCall } from "../calling.ts";

const certificates = createCertificates();

const redirectTo = (headers: KeyValue[]) => ({
  status_code: 302,
  headers,
});

/** Answers `/` with the redirect and every other path with 200. */
const redirecting =
  (status: number, location?: string): RequestListener =>
  (request, response) => {
    if (request.url === "/") response.writeHead(status, location === undefined ? {} : { location });
    response.end("body");
  };

const SECRETS = [
  ["Authorization", "Basic c2VjcmV0"],
  ["AUTHORIZATION", "Bearer secret"],
  ["Cookie", "session=secret"],
  ["Proxy-Authorization", "Basic c2VjcmV0"],
  ["X-Api-Key", "secret"],
  ["X-Auth-Token", "secret"],
  ["X-Client-Secret", "secret"],
  ["Api-Signature", "secret"],
] as const;

const withSecrets: Partial<TickCall["request"]> = {
  headers: [...SECRETS.map(([key, value]) => ({ key, value })), { key: "X-Plain", value: "plain" }],
};

describe("a redirect", () => {
  it.each([
    [301, "GET", "GET", ""],
    [301, "POST", "GET", ""],
    [301, "HEAD", "HEAD", ""],
    [302, "POST", "GET", ""],
    [302, "DELETE", "GET", ""],
    [303, "PUT", "GET", ""],
    [303, "HEAD", "HEAD", ""],
    [307, "POST", "POST", "sent"],
    [307, "DELETE", "DELETE", "sent"],
    [308, "PUT", "PUT", "sent"],
    [308, "GET", "GET", "sent"],
  ])("%i of %s is followed with %s and body %j", async (status, method, becomes, body) => {
    await using target = await startTarget(redirecting(status, "/next"));
    const outcome = await call(target.url, {
      request: {
        method,
        body: body === "" && ["GET", "HEAD"].includes(method) ? null : "sent",
        headers: [{ key: "Content-Type", value: "text/plain" }],
      },
    });
    expect(outcome).toMatchObject({ result: "COMPLETE", message: null });
    expect(target.requests[1]).toMatchObject({
      method: becomes,
      url: "/next",
      body,
    });
    const kept = becomes === method;
    expect(target.requests[1]?.headers["content-type"]).toBe(kept ? "text/plain" : undefined);
  });

  it.each([
    ["/a/b", "/a/b"],
    ["next?x=1#part", "/next?x=1"],
    ["?x=1", "/?x=1"],
    ["//127.0.0.1:PORT/other", "/other"],
    ["http://127.0.0.1:PORT/whole", "/whole"],
    [`/part#${"y".repeat(33_000)}`, "/part"],
    ["HTTP://user:pass@127.0.0.1:PORT/login", "/login"],
    ["/gr\u00c3\u00bc\u00c3\u009fe", "/gr%C3%BC%C3%9Fe"],
    ["/gr\u00fc\u00dfe?\u00fc", "/gr%fc%dfe?%fc"],
  ])("to %s is followed to %s", async (location, path) => {
    let port = 0;
    await using target = await startTarget((request, response) =>
      redirecting(302, location.replace("PORT", String(port)))(request, response),
    );
    port = target.port;
    const outcome = await call(target.url);
    expect(outcome.message).toBeNull();
    const next = target.requests.at(-1);
    expect(next?.url).toBe(path);
    expect(next?.headers.authorization).toBeUndefined();
  });

  it.each([
    ["with no Location", undefined],
    ["with an empty Location", ""],
    ["to an invalid URL", "http://:0:0/"],
    ["to port 0", "http://127.0.0.1:0/"],
    ["to a file", "file:///etc/passwd"],
    ["to data", "data:text/plain,hello"],
    ["to ftp", "ftp://127.0.0.1/"],
    ["to a URL longer than a call's may be", `/${"x".repeat(32_768)}`],
    ["to one that is so encoded", `/${"\u00c3\u00bc".repeat(5500)}`],
  ])("%s is not followed", async (_, location) => {
    await using target = await startTarget(redirecting(302, location));
    const outcome = await call(target.url);
    expect(outcome.result).toBe("HTTP_REDIRECT_ERROR");
    expect(codeOf(outcome)).toBe("redirect_invalid");
    expect(statusOf(outcome)).toBe(302);
    expect(target.connections()).toBe(1);
  });

  it("is not followed when the call says so", async () => {
    await using target = await startTarget(redirecting(302, "/next"));
    const outcome = await call(target.url, {
      behaviour: { followRedirects: false },
    });
    expect(outcome).toMatchObject({
      result: "HTTP_REDIRECT_ERROR",
      message: "redirect_not_followed: the server answered 302",
      hops: [],
    });
    expect(target.requests).toHaveLength(1);
  });

  it("in a loop ends at the limit", async () => {
    await using target = await startTarget(redirecting(302, "/"));
    const outcome = await call(target.url, { behaviour: { maxRedirects: 4 } });
    expect(outcome).toMatchObject({
      result: "HTTP_REDIRECT_ERROR",
      message: "too_many_redirects: more than 4 redirects",
    });
    expect(outcome.hops).toHaveLength(4);
    expect(target.requests).toHaveLength(5);
  });

  it("is reported as a hop with its own timing, within the total", async () => {
    await using target = await startTarget((request, response) => {
      const { url = "" } = request;
      setTimeout(() => redirecting(302, "/last")(request, response), url === "/" ? 60 : 0);
    });
    const outcome = await undisturbed(() => call(target.url));
    expect(outcome.hops).toMatchObject([{ response: { status_code: 302 }, destIp: "127.0.0.1" }]);
    expect(statusOf(outcome)).toBe(200);
    expect(target.connections()).toBe(target.requests.length);
    const { total, processing } = timingOfCall(outcome);
    expect(total).toBeGreaterThan(55);
    expect(processing).toBeLessThan(50);
  });

  it("shares the call's deadline", async () => {
    await using target = await startTarget((request, response) => {
      setTimeout(() => redirecting(302, "/")(request, response), 20);
    });
    const outcome = await undisturbed(() =>
      call(target.url, { behaviour: { timeoutMs: 200, maxRedirects: 50 } }),
    );
    // The deadline may fall into any phase of the second or a later hop.
    expect(codeOf(outcome)).toBeOneOf(["timeout", "connect_timeout"]);
    expect(outcome.hops.length).toBeGreaterThan(1);
    expect(timingOfCall(outcome).total).toBeLessThan(450);
  });

  it("keeps credentials on the same host", async () => {
    await using target = await startTarget(redirecting(307, "/next"));
    await call(target.url, { request: withSecrets });
    expect(target.requests[1]?.rawHeaders).toEqual(target.requests[0]?.rawHeaders);
    expect(target.requests[1]?.headers["x-api-key"]).toBe("secret");
  });

  it.each([
    ["another host", "localhost"],
    ["another port", "127.0.0.1"],
  ])("drops credentials on its way to %s", async (_, host) => {
    await using elsewhere = await startTarget();
    await using target = await startTarget(redirecting(308, `http://${host}:${elsewhere.port}/`));
    await call(target.url, {
      request: { ...withSecrets, method: "POST", body: "kept" },
    });
    const [arrived] = elsewhere.requests;
    expect(arrived?.rawHeaders.join("\n")).not.toMatch(/secret|c2VjcmV0/);
    expect(arrived?.headers).toMatchObject({
      "x-plain": "plain",
      host: `${host}:${elsewhere.port}`,
    });
    expect(arrived?.body).toBe("kept");
  });

  it.each([
    ["http://a.example/", "https://a.example/", true],
    ["http://a.example/", "http://a.example/next", true],
    ["https://a.example:8443/", "https://a.example:8443/next", true],
    ["https://a.example/", "http://a.example/", false],
    ["http://a.example:8080/", "https://a.example:8443/", false],
    ["http://a.example:8080/", "https://a.example/", false],
    ["http://a.example/", "https://a.example:8443/", false],
    ["http://a.example/", "https://b.a.example/", false],
    ["https://a.example/", "https://a.example.evil.example/", false],
    ["https://a.example/", "https://user:pass@b.example/", false],
  ])("from %s to %s keeps credentials: %s", (from, to, kept) => {
    const sign = async (request: HttpRequest) => ({ request });
    const clientCertificate = certificates.good;
    const request = {
      ...requestOf(from, withSecrets),
      clientCertificate,
      sign,
    };
    const headers = [{ key: "Location", value: to }];
    const next = redirectedRequest(request, redirectTo(headers), DEFAULT_BEHAVIOUR, 0);
    const sent = next.headers.map(({ key, value }) => `${key}: ${value}`);
    expect(next.url.href).toBe(to.replace("user:pass@", ""));
    expect(sent.filter((one) => /secret|c2VjcmV0/.test(one))).toHaveLength(
      kept ? SECRETS.length : 0,
    );
    expect(sent).toContain("X-Plain: plain");
    expect(next.clientCertificate).toBe(kept ? clientCertificate : undefined);
    expect(next.sign).toBe(kept ? sign : undefined);
  });

  it("shows a client certificate only to the call's own host", async () => {
    const shown: string[] = [];
    const tls = {
      ...certificates.good,
      requestCert: true,
      rejectUnauthorized: false,
    };
    const startDemanding = (name: string, location?: () => string) =>
      startTarget(
        (request, response) => {
          const { raw } = (request.socket as TLSSocket).getPeerCertificate();
          shown.push(`${name}${request.url}: ${raw ? "shown" : "none"}`);
          if (location) response.writeHead(302, { location: location() });
          response.end();
        },
        { tls },
      );
    await using elsewhere = await startDemanding("elsewhere");
    const there = `https://localhost:${elsewhere.port}/`;
    await using target = await startDemanding("target", () =>
      shown.length === 1 ? "/next" : there,
    );
    const caller = createHttpCaller({
      clock: systemClock,
      egress: parseEgressAllow(["127.0.0.1"]),
    });
    const outcome = await caller.call(
      { ...requestOf(target.url), clientCertificate: certificates.good },
      { ...DEFAULT_BEHAVIOUR, insecureTls: true },
    );
    expect(outcome.message).toBeNull();
    expect(shown).toEqual(["target/: shown", "target/next: shown", "elsewhere/: none"]);
  });

  it.each([
    ["the same host over http, without the secure ones", "127.0.0.1", "b=2"],
    ["another host not at all", "localhost", undefined],
  ])("takes cookies to %s", async (_, host, cookie) => {
    await using plain = await startTarget();
    await using target = await startTarget(
      (_request, response) => {
        response.setHeader("Set-Cookie", ["a=1; Secure", "b=2"]);
        const location = `http://${host}:${plain.port}/`;
        response.writeHead(302, { location }).end();
      },
      { tls: certificates.good },
    );
    const ca = certificates.authority.cert;
    const outcome = await call(target.url, { ca });
    expect(outcome.message).toBeNull();
    expect(plain.requests[0]?.headers.cookie).toBe(cookie);
  });

  it("replaces the call's own cookies with those that it sets", async () => {
    await using target = await startTarget((request, response) => {
      if (request.url === "/a/login") {
        response.setHeader("Set-Cookie", [
          "a=new; Path=/",
          "b=; Path=/; Max-Age=0",
          "c=new; Path=/c",
          "d=new; Domain=other.example",
        ]);
        response.writeHead(302, { location: "/home" });
      }
      response.end();
    });
    await call(`${target.url}/a/login`, {
      request: { headers: [{ key: "Cookie", value: "a=own; b=own; c=own; d=own" }] },
    });
    expect(target.requests.map(({ headers }) => headers.cookie)).toEqual([
      "a=own; b=own; c=own; d=own",
      "c=own; d=own; a=new",
    ]);
  });

  it("replaces the call's own cookies where those that it sets apply", async () => {
    await using target = await startTarget((request, response) => {
      const to: Record<string, string> = { "/login": "/other", "/other": "/app/home" };
      if (request.url === "/login")
        response.setHeader("Set-Cookie", ["a=new; Path=/app", "b=; Path=/app; Max-Age=0"]);
      const location = to[request.url ?? ""];
      response.writeHead(location ? 302 : 200, location ? { location } : {}).end();
    });
    await call(`${target.url}/login`, {
      request: { headers: [{ key: "Cookie", value: "a=own; b=own" }] },
    });
    expect(target.requests.map(({ headers }) => headers.cookie)).toEqual([
      "a=own; b=own",
      "a=own; b=own",
      "b=own; a=new",
    ]);
  });

  it("keeps the call's Host header only on the same host", async () => {
    await using elsewhere = await startTarget();
    await using target = await startTarget((request, response) => {
      const to = request.url === "/" ? "/next" : elsewhere.url;
      response.writeHead(302, { location: to }).end();
    });
    await call(target.url, {
      request: { headers: [{ key: "Host", value: "virtual.example" }] },
    });
    expect(target.requests.map(({ headers }) => headers.host)).toEqual([
      "virtual.example",
      "virtual.example",
    ]);
    expect(elsewhere.requests[0]?.headers.host).toBe(elsewhere.authority);
  });

  it("to a refused address is not followed", async () => {
    await using inside = await startTarget();
    await using target = await startTarget(redirecting(302, inside.url));
    const outcome = await call(target.url, { allow: [target.authority] });
    expect(outcome.result).toBe("UNABLE_TO_RUN");
    expect(outcome.message).toBe(
      "egress_refused: the redirect leads to an address that is neither public nor allowed at this location",
    );
    expect(outcome.hops).toHaveLength(1);
    expect(inside.connections()).toBe(0);
  });
});
