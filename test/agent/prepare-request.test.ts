import { describe, expect, it } from "vitest";
import { parseEgressAllow } from "../../src/net/egress.ts";
import { createHttpCaller } from "../../src/agent/http/http-call.ts";
import type { Authorization } from "../../src/model/authorization.ts";
import type { ReportedResult } from "../../src/model/result.ts";
import { tickValidator } from "../../src/model/tick.ts";
import type { Tick, TickCall } from "../../src/model/tick.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { createCertificates } from "../support/certificates.ts";
import { startTarget } from "../support/target-server.ts";
import { newAuthorization, newToken } from "./authorize/authorizing.ts";
import { newCall, newRunSettings, newTick, runTick } from "./calling.ts";

interface Order {
  readonly request: Partial<TickCall["request"]>;
  readonly authorization?: Authorization;
  readonly tags?: string[];
  readonly tick?: Partial<Tick>;
  readonly caller?: ReturnType<typeof createHttpCaller>;
}

const egress = parseEgressAllow(["127.0.0.0/8"]);

async function run({ request, tick, caller, ...rest }: Order): Promise<ReportedResult> {
  const given = { ...newTick(newCall(request, rest)), ...tick };
  const report = await runTick(
    newRunSettings({ ...(caller && { caller }) }),
    tickValidator.parse(given),
  );
  return report.results[0] as ReportedResult;
}

const pair = (key: string, value: string) => ({ key, value });

const setting = (auth_type: string, rest: Partial<Authorization> = {}) =>
  newAuthorization(auth_type, { domain: "127.0.0.1", ...rest });

describe("the variables of a call", () => {
  it("are filled in everywhere, and masked in its result if secret", async () => {
    await using target = await startTarget((request, response) =>
      response.setHeader("X-Echo", request.url ?? "").end(),
    );
    const result = await run({
      request: {
        method: "POST",
        url: `http://{{ host }}:${target.port}/%7B%7Bpath%7D%7D/__CITY__`,
        parameters: [pair("%%CITY%%", "{{path}}")],
        headers: [pair("X-{{host}}", "<{{path}}>"), pair("X-Run", "%%RESULT_ID%%")],
        body: '{"a":"{{path}}","b":"%%NO%% {{no}}"}',
      },
      tick: {
        context: { CITY: "Bad Ems" },
        environment: { host: "127.0.0.1", path: 'hush "/' },
      },
    });
    expect(target.requests[0]).toMatchObject({
      url: "/hush%20%22%2F/Bad%20Ems?Bad%20Ems=hush%20%22%2F",
      headers: { "x-127.0.0.1": '<hush "/>', "x-run": "result" },
      body: '{"a":"hush \\"/","b":"%%NO%% {{no}}"}',
    });
    expect(result.meta).toMatchObject({
      result: "COMPLETE",
      message: "unknown_variable: %%NO%%, {{no}} have no value",
      url: `http://********:${target.port}/********/Bad%20Ems?Bad%20Ems=********`,
    });
    expect(result.request?.body).toBe('{"a":"********","b":"%%NO%% {{no}}"}');
    expect(JSON.stringify(result)).not.toContain("hush");
  });

  it("are named if they have no value, also in a credential", async () => {
    await using target = await startTarget();
    const { meta } = await run({
      request: {
        url: target.url,
        headers: [
          pair("Authorization", "Bearer {{missing_key}}"),
          pair("X-A", "{{city}} %%GONE%%"),
        ],
      },
      tick: { environment: { city: "Bad Ems" } },
    });
    expect(meta.message).toBe("unknown_variable: {{missing_key}}, %%GONE%% have no value");
  });

  it.each([
    [
      { headers: [pair("X-A", "%%LINES%%")] },
      'the value of header "X-A" has a control character (line break or NUL)',
    ],
    [{ url: "http://%%LINES%%/" }, "the value of %%LINES%% is not a host"],
    [
      { url: "http://{{gone}}/" },
      "the host of the URL is incomplete; unknown_variable: {{gone}} has no value",
    ],
  ])("reject the request %j", async (request, message) => {
    const context = { LINES: "a\r\nX-Evil: b" };
    const result = await run({ request, tick: { context } });
    expect(result.meta).toMatchObject({ result: "UNABLE_TO_RUN", message });
  });

  it.each([
    ["application/xml", "<a>{{key}}</a>", 'a&b<c>"d"'],
    ["text/xml", "<a><![CDATA[{{key}}]]></a>", "a]]>b&c"],
    ["application/json", '{"a":"{{key}}"}', 'a"b\\c/d'],
    ["application/x-www-form-urlencoded", "a={{key}}", "a b&c(d)'e'"],
    ["text/plain", "{{key}}", "pl ain"],
  ])("are masked in a body of %s", async (type, body, key) => {
    await using target = await startTarget();
    const result = await run({
      request: {
        method: "POST",
        url: target.url,
        headers: [pair("Content-Type", type)],
        body,
      },
      tick: { environment: { key } },
    });
    expect(result.request?.body?.replace(/\]\]>(.*)<!\[CDATA\[/, "$1")).toBe(
      body.replace("{{key}}", "********"),
    );
  });

  it.each([4000, 60_000])("of %i characters leave no trace in a large body", async (length) => {
    await using target = await startTarget();
    const result = await run({
      request: {
        method: "POST",
        url: target.url,
        headers: [pair("Content-Type", "text/plain")],
        body: "{{key}}".repeat(60),
      },
      tick: { environment: { key: "hush".repeat(length / 4) } },
    });
    expect(target.requests[0]?.body).toHaveLength(60 * length);
    expect(result.request?.body).toMatch(/^\**… \(\d+ bytes\)$/);
  });

  it("are masked wherever the target echoes them", async () => {
    await using target = await startTarget((request, response) => {
      const key = String(request.headers["x-key"]);
      if (request.url?.startsWith("/?")) {
        response.writeHead(302, { location: `/next?was=${key}` }).end();
        return;
      }
      response.statusMessage = `for ${key}`;
      response.setHeader("X-Key", key);
      for (const name of Object.keys(request.headers))
        if (name.startsWith("for-")) response.setHeader(name, "echo");
      response.setHeader("Content-Type", `text/plain; for="${key}"`);
      response.end(new URLSearchParams({ key }).toString());
    });
    const result = await run({
      request: {
        url: `${target.url}/?q={{key}}`,
        headers: [pair("X-Key", "{{key}}"), pair("For-{{name}}", "a")],
      },
      tick: { environment: { key: " Tena/nt o'R(1) ", name: "Tenant-A1" } },
    });
    expect(result.hops.map(({ url }) => url)).toEqual([`${target.url}/?q=%20********%20`]);
    expect(result.request?.url).toBe(`${target.url}/next?was=********`);
    expect(result.response?.status_string).toBe("for ********");
    expect(result.content).toMatchObject({
      content_type: 'text/plain; for="********"',
      content: "key=********",
    });
    expect(result.response?.headers).toContainEqual(pair("for-********", "echo"));
    expect(JSON.stringify(result)).not.toMatch(/nt.o.*R|tenant/i);
  });

  it("are masked in the lower-case host of a URL and of a message", async () => {
    const location = `http://LocalHost:1/`;
    await using target = await startTarget((_, response) => {
      response.writeHead(307, { location }).end();
    });
    const result = await run({
      request: {
        method: "POST",
        url: `http://{{host}}:${target.port}/`,
        body: "{{host}}",
      },
      tick: { environment: { host: "LocalHost" } },
    });
    expect(result.meta).toMatchObject({
      url: `http://********:${target.port}/`,
      message:
        "redirect_invalid: the redirect leads to ********:1, which must not receive the secret in the body",
    });
    expect(JSON.stringify(result)).not.toMatch(/localhost/i);
  });

  it("leave no part of a secret in a cut message", async () => {
    const key = "hush ".repeat(1000);
    const result = await run({
      request: { headers: [pair("{{key}}", "a"), pair("X", "b")] },
      tick: { environment: { key } },
    });
    expect(result.meta).toMatchObject({
      result: "UNABLE_TO_RUN",
      message: '"********" is not a valid header name',
    });
  });

  it("beyond ASCII appear as text in headers", async () => {
    await using target = await startTarget((request, response) => {
      response.setHeader("X-Echo", String(request.headers["x-city"]));
      response.setHeader("X-Latin", "gr\u00fcn").end();
    });
    const result = await run({
      request: { url: target.url, headers: [pair("X-City", "%%CITY%%")] },
      tick: { context: { CITY: "Zürich €" } },
    });
    expect(result.request?.headers).toContainEqual(pair("X-City", "Zürich €"));
    expect(result.response?.headers).toEqual(
      expect.arrayContaining([pair("X-Echo", "Zürich €"), pair("X-Latin", "gr\u00fcn")]),
    );
  });

  it("are filled into the headers and parameters of a token", async () => {
    await using target = await startTarget();
    const result = await run({
      request: { url: target.url },
      authorization: setting("MANUAL", {
        settings: { custom_variables: { tenant: "blue-team" } },
        token: newToken({
          headers: [pair("X-Key", "%%CLIENT_SECRET%%"), pair("X-To", "{{tenant}}")],
          parameters: [pair("appid", "hush-hush"), pair("pin", "{{hush}}")],
        }),
      }),
    });
    expect(target.requests[0]).toMatchObject({
      url: "/?appid=hush-hush&pin=%7B%7Bhush%7D%7D",
      headers: { "x-key": "secret", "x-to": "blue-team" },
    });
    expect(result.meta.url).toBe(`${target.url}/?appid=********&pin=********`);
    expect(result.meta.message).toBe("unknown_variable: ******** has no value");
    expect(JSON.stringify(result)).not.toMatch(/hush|blue-team|"secret"/);
  });
});

describe("the credentials of a call", () => {
  it("are sent to the setting's domain and masked in the result", async () => {
    await using target = await startTarget((request, response) =>
      response.setHeader("X-Echo", request.headers.authorization ?? "").end(),
    );
    const result = await run({
      request: { url: target.url },
      authorization: setting("OAUTH2", {
        token: newToken({ access_token: "hush-hush" }),
      }),
    });
    expect(target.requests[0]?.headers.authorization).toBe("Bearer hush-hush");
    expect(JSON.stringify(result)).not.toContain("hush");
    expect(result.response?.headers).toContainEqual(pair("X-Echo", "Bearer ********"));
  });

  it.each([
    setting("BASIC", { keys: { client_id: "me", client_secret: "hush" } }),
    setting("MANUAL", {
      token: newToken({ headers: [pair("Authorization", "Bearer Y9x4")] }),
    }),
    setting("MANUAL", {
      token: newToken({ headers: [pair("X-Own", "one=hush-1; hush-two")] }),
    }),
  ])("are masked wherever they come back: %j", async (authorization) => {
    await using target = await startTarget((request, response) => {
      const { headers, url = "" } = request;
      const sent = headers.authorization ?? String(headers["x-own"]);
      const part = sent.split(" ")[1] ?? "";
      if (url === "/first") {
        const query = `whole=${encodeURIComponent(sent)}&part=${part}`;
        response.writeHead(307, { location: `/next?${query}` });
      } else if (url.startsWith("/next")) {
        response.writeHead(307, { location: "/last" });
      } else {
        response.writeHead(200, `got ${part}`, { "X-Part": part });
      }
      response.end(JSON.stringify({ part, encoded: encodeURIComponent(sent) }));
    });
    const result = await run({
      request: { url: `${target.url}/first` },
      authorization,
    });
    const [sent = ""] = target.requests.map(
      ({ headers }) => headers.authorization ?? String(headers["x-own"]),
    );
    const part = sent.split(" ")[1] ?? "";
    expect(target.requests[1]?.url).toContain(`part=${part}`);
    expect(result.hops[1]?.url).toMatch(/whole=(Basic%20)?\*{8}&part=\*{8}$/);
    expect(result.response?.status_string).toBe("got ********");
    expect(result.response?.headers).toContainEqual(pair("X-Part", "********"));
    expect(JSON.stringify(result)).not.toMatch(new RegExp(`hush|Y9x4|${part.replace(/=+$/, "")}`));
  });

  it.each([
    ["BASIC", {}],
    ["NONE", { headers: [pair("X-A", "%%CLIENT_SECRET%%")] }],
    ["NONE", { body: "{{own}}" }],
  ])("of %s, used in %j, are sent to no other host", async (auth_type, used) => {
    await using target = await startTarget();
    const authorization = setting(auth_type, {
      domain: "a.example",
      settings: { custom_variables: { own: "hush" } },
    });
    const result = await run({
      request: { url: target.url, ...used },
      authorization,
    });
    expect(result.meta).toMatchObject({
      result: "UNABLE_TO_RUN",
      message:
        "the authentication setting covers a.example and its subdomains, but the call goes to 127.0.0.1",
    });
    expect(target.connections()).toBe(0);
  });

  it.each(["%%BASE%%/x", "{{base}}/x", "http://{{host}}/x"])(
    "go to a host that a variable names only inside the domain: %s",
    async (path) => {
      await using inside = await startTarget();
      const runAt = async (host: string, domain: string) => {
        const base = `http://${host}:${inside.port}`;
        const tick = { context: { BASE: base }, environment: { base, host: base.slice(7) } };
        const authorization = setting("BASIC", { domain });
        return (await run({ request: { url: path }, authorization, tick })).meta;
      };
      expect(await runAt("127.0.0.1", "127.0.0.1")).toMatchObject({ result: "COMPLETE" });
      expect(inside.requests[0]?.headers.authorization).toMatch(/^Basic /);
      expect(await runAt("127.0.0.1", "a.example")).toMatchObject({
        result: "UNABLE_TO_RUN",
        message: expect.stringMatching(/^the authentication setting covers a\.example and/),
      });
      expect(inside.requests).toHaveLength(1);
    },
  );

  it("skip the call once expired, without blame for the target", async () => {
    await using target = await startTarget();
    const result = await run({
      request: { url: target.url },
      authorization: setting("OAUTH2", { token: newToken({ expires_at: 1 }) }),
    });
    expect(result.meta).toMatchObject({
      result: "SKIPPED",
      result_category: null,
      message: "credential_expired: the token 'A token' expired at 1970-01-01T00:00:00.001Z",
    });
    expect(target.connections()).toBe(0);
  });

  it("do not follow a redirect to another host", async () => {
    await using other = await startTarget();
    await using target = await startTarget((_, response) => {
      response.writeHead(307, { location: `${other.url}/next` }).end();
    });
    const result = await run({
      request: {
        url: target.url,
        headers: [pair("X-Own", "a {{key}}"), pair("X-Short", "{{short}}")],
      },
      authorization: setting("OAUTH2_JWS", {
        settings: { header_name: "x-proof" },
        token: newToken(),
      }),
      tick: { environment: { key: "hush", short: "x" } },
    });
    const [before, after] = [target.requests[0], other.requests[0]].map((request) =>
      Object.keys(request?.headers ?? {}),
    );
    const secret = ["authorization", "x-own", "x-short", "x-proof"];
    expect(before).toEqual(expect.arrayContaining(secret));
    expect(secret.filter((name) => after?.includes(name))).toEqual([]);
    expect(after).toContain("sonde-run");
    expect(result.meta.result).toBe("COMPLETE");
  });

  it.each([
    ["text/plain", "key={{key}}", "hush"],
    ["text/plain", "key={{key}}", "abc"],
    ["application/xml", "<a>{{key}}</a>", "a&b<c>d"],
    ["application/json", '{"n":{{key}}}', "7"],
    ["application/x-www-form-urlencoded", "a={{key}}", "a b"],
  ])("in a body stop a redirect to another host: %s, %s", async (type, body, key) => {
    await using other = await startTarget();
    await using target = await startTarget((_, response) => {
      response.writeHead(308, { location: other.url }).end();
    });
    const result = await run({
      request: {
        url: target.url,
        method: "POST",
        headers: [pair("Content-Type", type)],
        body,
      },
      tick: { environment: { key } },
    });
    expect(result.meta).toMatchObject({
      result: "HTTP_REDIRECT_ERROR",
      message: `redirect_invalid: the redirect leads to ${other.authority}, which must not receive the secret in the body`,
    });
    expect(other.connections()).toBe(0);
  });
});

describe("a client certificate", () => {
  const { good, selfSigned, weak, authority } = createCertificates();
  const caller = createHttpCaller({
    clock: systemClock,
    egress,
    ca: authority.cert,
  });
  const tls = { ...good, ca: authority.cert, requestCert: true };

  it("is presented to the hosts of its domain", async () => {
    await using target = await startTarget(undefined, { tls });
    const result = await run({
      request: { url: target.url },
      authorization: setting("NONE", {
        settings: { ssl_cert: good.cert, ssl_key: good.key },
      }),
      caller,
    });
    expect(result.meta).toMatchObject({ result: "COMPLETE", message: null });
  });

  it.each([
    ["has a key that cannot be read", "nonsense"],
    ["has the key of another certificate", selfSigned.key],
    ["has a key of another kind", weak.key],
  ])("that %s prevents the call", async (_, ssl_key) => {
    await using target = await startTarget(undefined, { tls });
    const result = await run({
      request: { url: target.url },
      authorization: setting("NONE", {
        settings: { ssl_cert: good.cert, ssl_key },
      }),
      caller,
    });
    expect(result.meta).toMatchObject({
      result: "UNABLE_TO_RUN",
      message:
        "request_invalid: the client certificate or its key cannot be read, or they do not match",
    });
    expect(target.connections()).toBe(0);
  });
});
