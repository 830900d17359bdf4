// Sessions of the web pages: signing in, the requests that a session may make, and how it ends.
import { describe, expect, it } from "vitest";
import { newSignInCode } from "../../src/api/sessions.ts";
import { createAuthSetting, createCall, LIMITS, sharedApi, startApi } from "../support/api.ts";
import type { Answer, Caller, Sent, TestApi } from "../support/api.ts";
import { createManualClock } from "../support/manual-clock.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const T0 = Date.UTC(2026, 9, 1);

const api = sharedApi();

const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });

const signIn = ({ send }: TestApi, credential: string, headers: Sent["headers"] = {}) =>
  send({
    method: "POST",
    path: "/session/",
    as: null,
    headers: { ...bearer(credential), ...headers },
  });

const setCookie = ({ headers }: Answer): string => String(headers["set-cookie"]);

/** Returns the cookie as a browser would send it back. */
const cookieOf = (answer: Answer): string => setCookie(answer).split(";")[0] ?? "";

const openedBy = async (api: TestApi, { key }: Caller = api.ann): Promise<string> =>
  cookieOf(await signIn(api, key));

/** Sends a request with the cookie and without a key, as pages of the same origin do. */
const ask = ({ send }: TestApi, cookie: string, sent: Partial<Sent> = {}) =>
  send({
    path: "/session/",
    as: null,
    ...sent,
    headers: { cookie, "sec-fetch-site": "same-origin", ...sent.headers },
  });

const CALL = { meta: { name: "a call" }, request: { method: "GET", url: "https://target.test/" } };

describe("signing in", () => {
  it("with a key opens a session that stands for it", async () => {
    const bob = await api.caller("bob", "shop", "EDITOR");
    const answer = await signIn(api, bob.key);
    const whoAmI = { key_id: bob.key_id, owner: "bob", org: "shop", access_level: "EDITOR" };
    expect([answer.status, answer.body]).toEqual([201, { ...whoAmI, has_session: true }]);
    expect(setCookie(answer)).toMatch(
      /^sonde=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const seen = await ask(api, cookieOf(answer));
    expect([seen.status, seen.body]).toEqual([200, { ...whoAmI, has_session: true }]);
    const byKey = await api.send({ path: "/session/", as: bob });
    expect(byKey.body).toEqual({ ...whoAmI, has_session: false });
  });

  it("sets a Secure cookie when a trusted proxy reports HTTPS", async () => {
    await using api = await startApi({ config: { trustProxy: ["127.0.0.1"] } });
    const https = { "x-forwarded-proto": "https" };
    const answer = await signIn(api, api.ann.key, https);
    expect(setCookie(answer)).toMatch(
      /^__Host-sonde=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    const secure = cookieOf(answer);
    expect((await ask(api, secure, { headers: https })).status).toBe(200);
    // Another program on this host may set this one over http.
    const planted = secure.replace("__Host-", "");
    expect((await ask(api, planted, { headers: https })).status).toBe(401);
  });

  it("ignores X-Forwarded-Proto from an untrusted client", async () => {
    const answer = await signIn(api, api.ann.key, { "x-forwarded-proto": "https" });
    expect(setCookie(answer)).toMatch(/^sonde=/);
  });

  it("with a code works once, even if two requests race", async () => {
    const code = await newSignInCode(api.store, api.ann.key_id);
    const answers = await Promise.all([signIn(api, code), signIn(api, code)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 401]);
    expect((await signIn(api, code)).status).toBe(401);
    const [opened] = answers.filter(({ status }) => status === 201);
    expect((await ask(api, cookieOf(opened as Answer))).body).toMatchObject({ owner: "ann" });
  });

  it("with a code works within an hour, and while its key is active", async () => {
    const clock = createManualClock(T0);
    await using api = await startApi({ clock });
    const codeOf = ({ key_id }: Caller) => newSignInCode(api.store, key_id);
    const [inTime, late] = [await codeOf(api.ann), await codeOf(api.ann)];
    const bob = await api.caller("bob");
    const revoked = await codeOf(bob);
    await clock.advance(HOUR);
    expect((await signIn(api, inTime)).status).toBe(201);
    await clock.advance(1);
    expect((await signIn(api, late)).status).toBe(401);
    await api.store.apiKeys.revoke(bob.key_id, null, clock.now());
    expect((await signIn(api, revoked)).status).toBe(401);
  });

  it("is the only use of a code", async () => {
    const code = await newSignInCode(api.store, api.ann.key_id);
    expect((await api.send({ path: "/calls/", as: { key: code, key_id: "" } })).status).toBe(401);
    expect((await signIn(api, code)).status).toBe(201);
  });

  it("needs a header: another site's form must not sign a browser in as someone else", async () => {
    const path = `/session/?_token=${api.ann.key}`;
    expect((await api.send({ method: "POST", path, as: null })).status).toBe(401);
  });

  it("does not accept a session in place of a key", async () => {
    const cookie = await openedBy(api);
    expect((await ask(api, cookie, { method: "POST" })).status).toBe(401);
  });

  it("leaves entries in the audit trail, and no secret in the log", async () => {
    await using api = await startApi();
    const answer = await signIn(api, api.ann.key);
    const code = await newSignInCode(api.store, api.ann.key_id);
    await signIn(api, code);
    await signIn(api, code);
    await ask(api, cookieOf(answer), { method: "DELETE" });
    const entries = await api.store.audit.list({ limit: 10 });
    const { key_id } = api.ann;
    expect(entries.map(({ actor, action, kind }) => [actor, action, kind])).toEqual([
      [key_id, "issue", "session"],
      [key_id, "issue", "session"],
      ["unknown key", "reject", "sign_in"],
      [key_id, "revoke", "session"],
    ]);
    const [, secret = ""] = cookieOf(answer).split("=");
    const shown = api.logged() + JSON.stringify(entries);
    for (const hidden of [api.ann.key, secret, code]) expect(shown).not.toContain(hidden);
  });
});

describe("a session", () => {
  it("has the level of its key, and no more", async () => {
    const viewer = await api.caller("ann", null, "VIEWER");
    const cookie = await openedBy(api, viewer);
    const setting = await createAuthSetting(api, {
      keys: { client_id: "cl1ent", client_secret: "s3cret" },
    });
    const refused = await ask(api, cookie, { method: "POST", path: "/calls/", body: CALL });
    expect([refused.status, refused.body["error_msg"]]).toEqual([
      403,
      "This needs a key of access level EDITOR; yours is VIEWER",
    ]);
    expect((await ask(api, cookie, { path: "/api_keys/" })).status).toBe(403);
    const read = await ask(api, cookie, { path: `/auth/${setting.id}/` });
    expect([read.status, read.body["keys"]]).toEqual([200, null]);
  });

  it("never authorizes a request that also has a wrong key", async () => {
    const cookie = await openedBy(api);
    const wrong = "W".repeat(32);
    for (const headers of [bearer(wrong), { "x-api-key": wrong }])
      expect((await ask(api, cookie, { headers })).status).toBe(401);
    expect((await ask(api, cookie, { path: `/session/?_token=${wrong}` })).status).toBe(401);
  });

  it("shares the limit of requests with its key", async () => {
    const limits = { ...LIMITS, requestsPerMinute: 3 };
    await using api = await startApi({ config: { limits } });
    const cookie = await openedBy(api);
    await ask(api, cookie);
    await api.send({ path: "/calls/" });
    const answer = await ask(api, cookie);
    expect([answer.status, answer.headers["retry-after"]]).toEqual([429, "60"]);
  });

  it("ends after its idle timeout", async () => {
    const clock = createManualClock(T0);
    await using api = await startApi({ clock, config: { sessionIdleMs: 2 * HOUR } });
    const cookie = await openedBy(api);
    for (let n = 0; n < 3; n += 1) {
      await clock.advance(HOUR);
      expect((await ask(api, cookie)).status).toBe(200);
    }
    await clock.advance(2 * HOUR);
    expect((await ask(api, cookie)).status).toBe(200);
    await clock.advance(2 * HOUR + 1);
    expect((await ask(api, cookie)).status).toBe(401);
  });

  it("is not kept open by a page's background requests", async () => {
    const clock = createManualClock(T0);
    await using api = await startApi({ clock, config: { sessionIdleMs: 2 * HOUR } });
    const cookie = await openedBy(api);
    const headers = { "sonde-background": "1" };
    await clock.advance(90 * MINUTE);
    expect((await ask(api, cookie, { headers })).status).toBe(200);
    await clock.advance(31 * MINUTE);
    expect((await ask(api, cookie, { headers })).status).toBe(401);
  });

  it("ends after thirty days, however much it is used", async () => {
    const clock = createManualClock(T0);
    await using api = await startApi({ clock, config: { sessionIdleMs: 30 * DAY } });
    const cookie = await openedBy(api);
    await clock.advance(29 * DAY);
    expect((await ask(api, cookie)).status).toBe(200);
    await clock.advance(DAY);
    expect((await ask(api, cookie)).status).toBe(200);
    await clock.advance(1);
    expect((await ask(api, cookie)).status).toBe(401);
  });

  it("ends at once when it revokes its own key", async () => {
    const bob = await api.caller("bob");
    const cookie = await openedBy(api, bob);
    const path = `/api_keys/${bob.key_id}/`;
    expect((await ask(api, cookie, { method: "DELETE", path })).status).toBe(200);
    const answer = await ask(api, cookie);
    expect([answer.status, answer.body]).toEqual([401, { error_msg: "Unauthorized", error: 401 }]);
  });

  it("ends when it signs out, and no other does", async () => {
    const [cookie, other] = [await openedBy(api), await openedBy(api)];
    const answer = await ask(api, cookie, { method: "DELETE" });
    expect([answer.status, answer.body]).toEqual([200, { status: "OK" }]);
    expect(setCookie(answer)).toBe("sonde=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict");
    expect((await ask(api, cookie)).status).toBe(401);
    expect((await ask(api, other)).status).toBe(200);
  });

  it.each(["sonde=", "sonde=x", `sonde=${"x".repeat(43)}`, "sonde=%00", "other=1", ";;=", "sonde"])(
    "is refused with the cookie %s",
    async (cookie) => {
      expect((await ask(api, cookie)).status).toBe(401);
    },
  );
});

describe("a change with a session", () => {
  const change = (cookie: string, headers: Record<string, string>, of: TestApi = api) =>
    of.send({
      method: "POST",
      path: "/calls/",
      body: CALL,
      as: null,
      headers: { host: "sonde.lan:8080", cookie, ...headers },
    });
  const OURS = "http://sonde.lan:8080";
  const UNSAID = "does not say where it comes from";
  const PUBLIC = "https://monitoring.example.com/sonde";

  it.each<[string, Record<string, string>]>([
    ["its own pages", { "sec-fetch-site": "same-origin", origin: OURS }],
    ["its own pages, in a browser that says only where", { origin: OURS }],
  ])("is made for %s", async (_who, headers) => {
    expect((await change(await openedBy(api), headers)).status).toBe(201);
  });

  it.each<[string, Record<string, string>, string]>([
    [
      "another site",
      { "sec-fetch-site": "cross-site", origin: "https://evil.test" },
      "is from 'https://evil.test'",
    ],
    ["another host of the site", { "sec-fetch-site": "same-site" }, UNSAID],
    ["no page", { "sec-fetch-site": "none" }, UNSAID],
    [
      "a page of our host that says it is elsewhere",
      { "sec-fetch-site": "cross-site", origin: OURS },
      `is from '${OURS}'`,
    ],
    ["another host, by its origin", { origin: "https://evil.test" }, "is from 'https://evil.test'"],
    [
      "another port, by its origin",
      { origin: "http://sonde.lan:8081" },
      "is from 'http://sonde.lan:8081'",
    ],
    ["a page that hides its origin", { origin: "null" }, "is from 'null'"],
    ["a file", { origin: "file://" }, "is from 'file://'"],
    ["a program that says nothing", {}, UNSAID],
  ])("is refused to %s", async (_who, headers, said) => {
    const answer = await change(await openedBy(api), headers);
    expect(answer.status).toBe(403);
    expect(answer.body["error_msg"]).toBe(
      `A session can make changes only from Sonde's own pages; this request ${said}`,
    );
  });

  it("is allowed only from the public URL behind a proxy that changes the host", async () => {
    await using renamed = await startApi({ config: { publicUrl: PUBLIC } });
    const cookie = await openedBy(renamed);
    const statusFrom = async (origin: string) =>
      (await change(cookie, { origin, host: "10.1.2.3:8080" }, renamed)).status;
    expect(await statusFrom("https://monitoring.example.com")).toBe(201);
    expect(await statusFrom("https://monitoring.example.com.evil.test")).toBe(403);
    expect(await statusFrom("null")).toBe(403);
  });

  it("is every method but GET and HEAD", async () => {
    const cookie = await openedBy(api);
    const { id } = await createCall(api);
    const path = `/calls/${id}/`;
    const headers = { cookie, "sec-fetch-site": "cross-site" };
    const statusOf = async (method: NonNullable<Sent["method"]>) =>
      (await api.send({ method, path, as: null, headers })).status;
    for (const method of ["PUT", "POST", "DELETE"] as const)
      expect(await statusOf(method)).toBe(403);
    for (const method of ["GET", "HEAD"] as const) expect(await statusOf(method)).toBe(200);
    expect((await ask(api, cookie, { method: "DELETE", headers })).status).toBe(403);
  });

  it("may come from any site with a key in a header", async () => {
    const headers = { "sec-fetch-site": "cross-site", origin: "https://evil.test" };
    const answer = await api.send({ method: "POST", path: "/calls/", body: CALL, headers });
    expect(answer.status).toBe(201);
  });
});
