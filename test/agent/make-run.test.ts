import { describe, expect, it } from "vitest";
import { parseEgressAllow } from "../../src/net/egress.ts";
import { createHostResolver } from "../../src/net/resolve-host.ts";
import { createHttpCaller } from "../../src/agent/http/http-call.ts";
import { runReportValidator } from "../../src/model/result.ts";
import type { Result } from "../../src/model/result.ts";
import type { TickCall } from "../../src/model/tick.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { captureLog } from "../runtime/log-lines.ts";
import { startBlackHole } from "../support/black-hole.ts";
import { freePort } from "../support/free-port.ts";
import { startNameServer } from "../support/name-server.ts";
import { startTarget } from "../support/target-server.ts";
import { undisturbed } from "../support/undisturbed.ts";
import { newCall, newRunSettings, newTick, runTick } from "./calling.ts";

async function run(
  request: Partial<TickCall["request"]>,
  rest: Partial<Omit<TickCall, "request">> = {},
  uplinkCheck: readonly string[] = [],
): Promise<Result> {
  const caller = createHttpCaller({
    clock: systemClock,
    egress: parseEgressAllow(["127.0.0.1"]),
    uplinkCheck,
  });
  const report = await runTick(newRunSettings({ caller }), newTick(newCall(request, rest)));
  runReportValidator.parse(report);
  expect(report.results).toHaveLength(1);
  return report.results[0] as Result;
}

it("a fault of the agent is reported rather than retried forever", async () => {
  await using target = await startTarget();
  // No schema would accept this.
  const tags = null as unknown as string[];
  const result = await run({ url: target.url }, { tags });
  expect(result.meta).toMatchObject({
    result: "AGENT_ERROR",
    message: "agent_error: the agent failed during this call; see its log",
  });
  expect(target.requests).toEqual([]);
});

it("a fault of the agent during a call is logged with its cause", async () => {
  const { log, lines } = captureLog();
  const allows = (): never => {
    throw new Error("a bug");
  };
  const caller = createHttpCaller({ clock: systemClock, egress: { allows } });
  const tick = newTick(newCall({ url: "http://127.0.0.1/" }));
  const { results } = await runTick(newRunSettings({ caller, log }), tick);
  expect(results[0]?.meta).toMatchObject({
    result: "AGENT_ERROR",
    message: "agent_error: the agent failed during this call; see its log",
  });
  const [line, ...others] = lines();
  expect(line).toMatchObject({ msg: "call failed", err: { message: "a bug" }, call_id: "call" });
  expect(others).toEqual([]);
});

it.each([
  ["in a name", "http://{{place}}.example/", "hush", ["********.example", "10.0.0.9"]],
  ["with its port", "http://{{place}}/", "10.0.0.7:81", ["********", "********"]],
  ["as the start of a URL", "{{place}}/a", "http://10.0.0.7", ["********", "********"]],
  ["in a path", "http://10.0.0.7/{{place}}", "hush", ["10.0.0.7", "10.0.0.7"]],
  [
    "that a redirect repeats",
    "http://127.0.0.1:PORT/{{place}}",
    "hush",
    ["********.example", "10.0.0.9"],
  ],
])("a refused target is logged without a secret %s", async (_, url, place, shown) => {
  await using names = await startNameServer(() => ["10.0.0.9"]);
  await using target = await startTarget((request, response) => {
    response.writeHead(302, { location: `http:/${request.url}.example/` });
    response.end();
  });
  const { log, lines } = captureLog();
  const caller = createHttpCaller({
    clock: systemClock,
    egress: parseEgressAllow([target.authority]),
    resolver: createHostResolver({
      clock: systemClock,
      servers: [names.address],
      hostsFile: "/nowhere",
    }),
    log,
  });
  const tick = newTick(newCall({ url: url.replace("PORT", String(target.port)) }));
  await runTick(newRunSettings({ caller }), { ...tick, environment: { place } });
  const [host, ...addresses] = shown;
  expect(lines()).toMatchObject([{ msg: "target refused by egress rules", host, addresses }]);
});

it("a refused target is logged without a credential that its name repeats", async () => {
  await using target = await startTarget((_, response) => {
    response.writeHead(302, { location: "http://hush-hush.localhost/" });
    response.end();
  });
  const { log, lines } = captureLog();
  const caller = createHttpCaller({
    clock: systemClock,
    egress: parseEgressAllow([target.authority]),
    log,
  });
  const headers = [{ key: "X-Api-Key", value: "hush-hush" }];
  await runTick(newRunSettings({ caller }), newTick(newCall({ url: target.url, headers })));
  expect(lines()).toMatchObject([
    { msg: "target refused by egress rules", host: "********.localhost" },
  ]);
});

describe("a result", () => {
  it("masks credentials in headers and URLs", async () => {
    await using target = await startTarget((request, response) => {
      if (request.url?.startsWith("/next")) return response.end();
      response.writeHead(302, {
        "set-cookie": ["a=hush", "b=hush"],
        location: "/next?access_token=hush&x=1",
      });
      return response.end();
    });
    const result = await run({
      url: `${target.url}/?API_KEY=hush&q=shown`,
      parameters: [{ key: "_token", value: "hush" }],
      headers: [
        { key: "authorization", value: "Bearer hush" },
        { key: "X-Api-Key", value: "hush" },
        { key: "X-Shown", value: "shown" },
      ],
    });
    expect(JSON.stringify(result)).not.toContain("hush");
    expect(result.meta.url).toBe(`${target.url}/?API_KEY=********&q=shown&_token=********`);
    expect(result.hops).toMatchObject([{ http_code: 302, url: result.meta.url }]);
    expect(result.request?.headers).toContainEqual({
      key: "X-Shown",
      value: "shown",
    });
    expect(result.request?.url).toBe(`${target.url}/next?access_token=********&x=1`);
    expect(target.requests[0]?.headers.authorization).toBe("Bearer hush");
  });

  it("ends with the call, before the uplink check", async () => {
    await using hole = await startBlackHole();
    const nobody = `http://127.0.0.1:${await freePort()}`;
    const check = [`127.0.0.1:${hole.port}`];
    const result = await undisturbed(() => run({ url: nobody }, {}, check), { toleratedMs: 500 });
    const { message, start_time, end_time } = result.meta;
    expect(message).toMatch(/^uplink_down: /);
    const took = Date.parse(end_time ?? "") - Date.parse(start_time ?? "");
    // The uplink check takes two seconds.
    expect(took).toBeLessThan(1500);
  });

  it("masks the target of a redirect that is not followed", async () => {
    await using target = await startTarget((_, response) => {
      response.writeHead(302, { location: "/next?token=hush#access_token=hush" }).end();
    });
    const result = await run({ url: target.url }, { tags: ["noredirect"] });
    expect(result.meta.result).toBe("HTTP_REDIRECT_ERROR");
    expect(result.response?.headers).toContainEqual({
      key: "location",
      value: "/next?token=********#access_token=********",
    });
  });

  it("keeps the beginning of a large body", async () => {
    await using target = await startTarget();
    const result = await run({
      url: target.url,
      method: "POST",
      body: "x".repeat(20_000),
    });
    expect(result.request?.body).toBe(`${"x".repeat(8192)}… (20000 bytes)`);
    expect(result.meta.request_size).toBe(20_000);
  });

  it.each([
    [{ url: "ftp://a.example/" }, [], "the URL is not a valid http or https URL"],
    [
      { headers: [{ key: "X-A", value: "a\r\nb" }] },
      [],
      'the value of header "X-A" has a control character (line break or NUL)',
    ],
    [
      {},
      ["timeout:none"],
      "the tag 'timeout:none' needs a number of seconds above 0 (at most 120)",
    ],
  ])("of %j with the tags %j says why it is UNABLE_TO_RUN", async (request, tags, message) => {
    const result = await run(request, { tags });
    expect(result).toMatchObject({
      meta: {
        result: "UNABLE_TO_RUN",
        result_category: null,
        message,
        start_time: null,
        http_code: null,
      },
      timing: { total: null },
      request: { method: "GET", headers: [], body: null },
      response: null,
    });
  });

  it("of a refused address has no timing", async () => {
    const result = await run({ url: "http://10.0.0.1/" });
    expect(result).toMatchObject({
      meta: { result: "UNABLE_TO_RUN", result_category: null, dest_ip: null },
      timing: { total: null, tcp: null },
    });
  });
});
