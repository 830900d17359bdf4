import { describe, expect, it } from "vitest";
import { buildRequest } from "../../src/agent/build-request.ts";
import type { HttpRequest } from "../../src/agent/http/http-request.ts";
import type { TickCall } from "../../src/model/tick.ts";
import { newCall } from "./calling.ts";

const build = (request: Partial<TickCall["request"]>): HttpRequest | string => {
  const built = buildRequest(newCall(request), { runId: "run", version: "1.2.3" });
  return "reason" in built ? built.reason : built.request;
};

const built = (request: Partial<TickCall["request"]>): HttpRequest => {
  const made = build(request);
  if (typeof made === "string") throw new Error(made);
  return made;
};

const pair = (key: string, value: string) => ({ key, value });

describe("the URL of a request", () => {
  it.each([
    ["http://a.example", [], "http://a.example/"],
    ["http://a.example/p", [pair("q", "1")], "http://a.example/p?q=1"],
    ["http://a.example/?a=1", [pair("b", "2")], "http://a.example/?a=1&b=2"],
    [
      "http://a.example/?a=%20+b",
      [pair("c", "d e+f&g=h")],
      "http://a.example/?a=%20+b&c=d%20e%2Bf%26g%3Dh",
    ],
    ["http://a.example/", [pair("k y", "ü€")], "http://a.example/?k%20y=%C3%BC%E2%82%AC"],
    ["http://a.example/", [pair("a", "1"), pair("a", "1")], "http://a.example/?a=1&a=1"],
    ["http://a.example/", [pair("a", "")], "http://a.example/?a="],
    ["http://a.example/#top", [pair("a", "1")], "http://a.example/?a=1"],
    ["HTTPS://A.example:443/", [], "https://a.example/"],
    ["http://bücher.example/", [], "http://xn--bcher-kva.example/"],
    ["http://a.example/", [pair("lone", "\ud800")], "http://a.example/?lone=%EF%BF%BD"],
  ])("%s with %j is %s", (url, parameters, expected) => {
    expect(built({ url, parameters }).url.href).toBe(expected);
  });

  it.each([
    ["ftp://a.example/", "the URL is not a valid http or https URL"],
    ["http://", "the URL is not a valid http or https URL"],
    ["http://a b/", "the URL is not a valid http or https URL"],
    ["http://a.example:65536/", "the URL is not a valid http or https URL"],
    ["http://user:pass@a.example/", "the URL contains credentials"],
  ])("%s is rejected", (url, reason) => {
    expect(build({ url })).toBe(reason);
  });
});

it("a URL longer than 32 KiB is rejected", () => {
  expect(build({ url: `http://a.example/${"x".repeat(33_000)}` })).toBe(
    "the URL is longer than 32768 characters",
  );
});

describe("the headers of a request", () => {
  it("are the agent's defaults and those of the call", () => {
    const { headers } = built({
      url: "http://a.example:8080/",
      headers: [pair("X-One", "1"), pair("x-one", "2")],
    });
    expect(headers).toEqual([
      pair("Host", "a.example:8080"),
      pair("User-Agent", "Sonde/1.2.3"),
      pair("Accept", "*/*"),
      // sha256("run") and sha256("run call result")
      pair("traceparent", "00-acba25512100f80b56fc3ccd14c65be5-d17903558de7b63e-01"),
      pair("Sonde-Run", "result"),
      pair("X-One", "1"),
      pair("x-one", "2"),
    ]);
  });

  it("of the call replace the agent's, except Sonde-Run", () => {
    const { headers } = built({
      headers: [
        pair("host", "virtual.example"),
        pair("user-agent", "me"),
        pair("ACCEPT", "text/plain"),
        pair("Traceparent", "mine"),
        pair("SONDE-RUN", "not seen"),
      ],
    });
    expect(headers.map(({ key }) => key)).toEqual([
      "Sonde-Run",
      "host",
      "user-agent",
      "ACCEPT",
      "Traceparent",
    ]);
  });

  it("are sent in UTF-8", () => {
    const { headers } = built({ headers: [pair("X-Name", "Grüße €")] });
    const value = headers.at(-1)?.value ?? "";
    expect(Buffer.from(value, "latin1").toString()).toBe("Grüße €");
  });

  it.each([
    [
      "X-Evil",
      "a\r\nHost: b",
      'the value of header "X-Evil" has a control character (line break or NUL)',
    ],
    ["X-Evil", "a\nb", 'the value of header "X-Evil" has a control character (line break or NUL)'],
    ["X-Evil", "a\0b", 'the value of header "X-Evil" has a control character (line break or NUL)'],
    ["X Evil", "a", '"X Evil" is not a valid header name'],
    ["X-Evil:", "a", '"X-Evil:" is not a valid header name'],
    ["", "a", '"" is not a valid header name'],
    ["X-Evil\r\nA", "a", '"X-Evil\\r\\nA" is not a valid header name'],
    ["Ünicode", "a", '"Ünicode" is not a valid header name'],
    [
      "Content-Length",
      "0",
      'the header "Content-Length" is set by the agent and cannot be overridden',
    ],
    [
      "transfer-encoding",
      "chunked",
      'the header "transfer-encoding" is set by the agent and cannot be overridden',
    ],
    [
      "Connection",
      "keep-alive",
      'the header "Connection" is set by the agent and cannot be overridden',
    ],
    ["Upgrade", "h2c", 'the header "Upgrade" is set by the agent and cannot be overridden'],
    ["TE", "trailers", 'the header "TE" is set by the agent and cannot be overridden'],
    ["Keep-Alive", "1", 'the header "Keep-Alive" is set by the agent and cannot be overridden'],
    ["Expect", "100-continue", 'the header "Expect" is set by the agent and cannot be overridden'],
    ["X-Big", "x".repeat(70_000), "the headers are larger than 65536 bytes"],
  ])("%j: %.20j is rejected", (key, value, reason) => {
    expect(build({ headers: [pair(key, value)] })).toBe(reason);
  });

  it("contain at most one Host", () => {
    expect(
      build({
        headers: [pair("Host", "a.example"), pair("host", "b.example")],
      }),
    ).toBe('the header "Host" is given more than once');
  });
});

describe("the method and body of a request", () => {
  it.each([
    ["GET", null, null],
    ["POST", "", null],
    ["POST", "{}", "{}"],
    ["GET", "body", "body"],
    ["PURGE", "ü", "ü"],
  ])("are %s and %j", (method, body, expected) => {
    const request = built({ method, body });
    expect(request.method).toBe(method);
    expect(request.body?.toString() ?? null).toBe(expected);
  });

  it.each([
    ["GET /", "the method is not an HTTP token"],
    ["G\r\n", "the method is not an HTTP token"],
    ["CONNECT", "CONNECT opens a tunnel, which Sonde does not support"],
  ])("with the method %j are rejected", (method, reason) => {
    expect(build({ method })).toBe(reason);
  });
});
