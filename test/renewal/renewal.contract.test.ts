import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import type { RequestListener } from "node:http";
import { describe, expect, it } from "vitest";
import { formatInstant, parseInstant } from "../../src/model/instant.ts";
import { afterChange } from "../../src/model/token-destination.ts";
import { LEAST_BETWEEN_MS, renewalFailureOf } from "../../src/model/token-renewal.ts";
import { ofSetting, tokenResource } from "../../src/model/token.ts";
import type { Token } from "../../src/model/token.ts";
import type { AuthSetting } from "../../src/model/auth-setting.ts";
import type { NewDocument, StoredDocument } from "../../src/store/records.ts";
import { createCertificates } from "../support/certificates.ts";
import { insertKey } from "../support/runs.ts";
import { storeKinds } from "../support/stores.ts";
import { answering, insertToken, NOON, renewAll, startRenewing } from "./renewing.ts";

describe.each(storeKinds)("the renewal of tokens in %s", (kind) => {
  const start = (handler: RequestListener) => startRenewing(kind, handler);

  it("renews a token ahead of its expiry, and no earlier", async () => {
    let n = 0;
    await using system = await start((_, response) => {
      n += 1;
      response.end(JSON.stringify({ access_token: `new-${n}`, expires_in: 600 }));
    });
    const { store, run, tokenOf, target, clock } = system;
    const id = await insertToken(store, system.url, {
      settings: { scope: "read write", audience: "https://a.example" },
    });

    await run();
    const first = await tokenOf(id);
    expect(first.token).toMatchObject({
      access_token: "new-1",
      expires_in: 600,
    });
    expect(first.api_response).toEqual({
      access_token: "new-1",
      expires_in: 600,
    });
    expect(target.requests).toMatchObject([
      {
        method: "POST",
        body: "grant_type=client_credentials&scope=read+write&audience=https%3A%2F%2Fa.example&client_id=me&client_secret=hush+%2B",
        headers: { "content-type": "application/x-www-form-urlencoded" },
      },
    ]);
    const expiry = parseInstant(first.token.expire_time ?? "") as number;
    clock.moveTo(expiry - 185_000);
    await run();
    expect(target.requests).toHaveLength(1);
    clock.moveTo(expiry - 179_000);
    await run();
    expect((await tokenOf(id)).token.access_token).toBe("new-2");
  });

  it("counts a token's life from the request, not from when it is saved", async () => {
    let waitForMinutes = (): void => undefined;
    await using system = await start((_, response) => {
      waitForMinutes();
      response.end('{"access_token":"new","expires_in":600}');
    });
    waitForMinutes = () => system.clock.moveTo(NOON + 120_000);
    const id = await insertToken(system.store, system.url, {});
    await system.run();
    const { meta, token } = await system.tokenOf(id);
    const lived = (parseInstant(token.expire_time ?? "") ?? 0) - NOON;
    expect(lived).toBeGreaterThanOrEqual(600_000);
    expect(lived).toBeLessThan(660_000);
    expect(parseInstant(meta.last_update)).toBeGreaterThanOrEqual(NOON + 120_000);
  });

  it("keeps the refresh token that came with the new one", async () => {
    await using system = await start((request, response) => {
      const url = new URL(request.url ?? "", "http://a.example");
      const rotated = `${url.searchParams.get("refresh_token")}+`;
      const answer = {
        access_token: "new",
        refresh_token: rotated,
        expires_in: 1,
      };
      response.end(JSON.stringify(answer));
    });
    const id = await insertToken(system.store, system.url, {
      settings: { get_token_method: "GET", basic_auth_get_token_method: true },
      token: { grant_type: "refresh_token", refresh_token: "r" },
    });
    await system.run();
    system.clock.moveTo(NOON + 60_000);
    await system.run();
    expect(system.target.requests.map(({ method, url }) => [method, url])).toEqual([
      ["GET", "/token?grant_type=refresh_token&refresh_token=r"],
      ["GET", "/token?grant_type=refresh_token&refresh_token=r%2B"],
    ]);
    expect(system.target.requests[0]?.headers.authorization).toBe(
      `Basic ${Buffer.from("me:hush+%2B").toString("base64")}`,
    );
    expect((await system.tokenOf(id)).token.refresh_token).toBe("r++");
  });

  it.each(["\0", "\ud800"])("keeps a token beside which the answer has %j", async (character) => {
    const answer = { access_token: "new", token_type: `Bearer${character}`, [character]: 1 };
    await using system = await start(answering(answer));
    const id = await insertToken(system.store, system.url, {});
    await system.run();
    const { token } = await system.tokenOf(id);
    expect(token).toMatchObject({ access_token: "new", token_type: "Bearer\ufffd" });
    expect(await system.store.fleet.firstTokenExpiry()).toBeUndefined();
  });

  it("treats a token without expires_in as one that does not expire", async () => {
    await using system = await start(answering({ access_token: "new" }));
    const id = await insertToken(system.store, system.url, {});
    await system.run();
    system.clock.moveTo(NOON + 86_400_000);
    await system.run();
    expect(system.target.requests).toHaveLength(1);
    expect((await system.tokenOf(id)).token.expire_time).toBeNull();
  });

  it.each<[string, RequestListener, string, number?]>([
    [
      "400",
      answering({ error: "invalid_client", error_description: "hush" }, 400),
      "the token endpoint answered 400 (invalid_client)",
    ],
    [
      "an error with 200",
      answering({ error: "bad_refresh_token", error_description: "hush" }),
      "the token endpoint answered 200 (bad_refresh_token)",
    ],
    ["500", answering("<hush>", 500), "the token endpoint answered 500"],
    ["a redirect", answering("", 302), "the token endpoint answered 302"],
    ["no JSON", answering("hush"), "the token endpoint answered with something other than JSON"],
    ["no token", answering({}), "the token endpoint answered without an access_token"],
    ["nothing", () => undefined, "the token endpoint did not answer within 0.5 s", 500],
    [
      "without end",
      (_, response) => void response.end("x".repeat(1024 * 1024)),
      "the token endpoint sent more than Sonde reads",
    ],
  ])(
    "keeps the old token and the reason when the answer is %s",
    async (_, handler, reason, timeoutMs) => {
      await using system = await start(handler);
      const token = {
        access_token: "old",
        expire_time: formatInstant(NOON + 1000),
      };
      const id = await insertToken(system.store, system.url, { token });
      await renewAll(system.renewal({ timeoutMs }));
      const kept = await system.tokenOf(id);
      expect(kept.token).toMatchObject(token);
      expect(renewalFailureOf(kept)).toBe(reason);
    },
  );

  it.each<[string, object, object]>([
    ["client_secret", {}, {}],
    ["refresh_token", { grant_type: "refresh_token", refresh_token: "hush-1" }, {}],
    ["password", { grant_type: "password", username: "ann", password: "hush-2" }, {}],
    ["basic", {}, { basic_auth_get_token_method: true }],
  ])("masks a %s that the answer gives as its error", async (name, token, settings) => {
    await using system = await start((_, response) => {
      const { body = "", headers } = system.target.requests[0] ?? {};
      const sent = new URLSearchParams(body).get(name);
      const basic = headers?.authorization?.replace("Basic ", "");
      response.writeHead(400).end(JSON.stringify({ error: sent ?? basic }));
    });
    const keys = { client_secret: "hush-0" };
    const id = await insertToken(system.store, system.url, { token, settings, keys });
    await system.run();
    expect(renewalFailureOf(await system.tokenOf(id))).toBe(
      "the token endpoint answered 400 (********)",
    );
  });

  it("retries after a growing pause, or 30 s later when the owner changed the token", async () => {
    await using system = await start(answering("", 500));
    const { store, run, clock, target } = system;
    const id = await insertToken(store, system.url, {});
    // The clock keeps running while a renewal takes its time.
    for (const [seconds, tries] of [
      [0, 1],
      [8, 1],
      [18, 2],
      [36, 2],
      [56, 3],
    ] as const) {
      clock.moveTo(NOON + seconds * 1000);
      await run();
      expect([seconds, target.requests.length]).toEqual([seconds, tries]);
    }
    const stored = await store.documents.get("token", id);
    if (!stored) throw new Error("the token is gone");
    const document = tokenResource.update(
      stored.document as Token,
      { token: { scope: "other" } },
      clock.now() + 1, // so that it is not in the same millisecond as the failure
    );
    await store.documents.replace({ ...stored, document, filters: {} });
    clock.moveTo(NOON + 80_000);
    await run();
    expect(target.requests).toHaveLength(3);
    clock.moveTo(NOON + 90_000);
    await run();
    expect(target.requests).toHaveLength(4);
  });

  it("retries no later because the owner changed the token after a failure", async () => {
    await using system = await start(answering("", 500));
    const { store, run, clock, target } = system;
    const id = await insertToken(store, system.url, {});
    await run();
    const stored = await store.documents.get("token", id);
    if (!stored) throw new Error("the token is gone");
    const change = { token: { scope: "other" } };
    const document = tokenResource.update(stored.document as Token, change, clock.now() + 1);
    await store.documents.replace({ ...stored, document, filters: {} });
    for (const [seconds, tries] of [
      [8, 1],
      [18, 2],
    ] as const) {
      clock.moveTo(NOON + seconds * 1000);
      await run();
      expect([seconds, target.requests.length]).toEqual([seconds, tries]);
    }
  });

  it("asks once, however many processes renew", async () => {
    await using system = await start(answering({ access_token: "new", expires_in: 600 }));
    for (let n = 0; n < 3; n += 1) await insertToken(system.store, system.url, {});
    const others = [system.renewal(), system.renewal()];
    await Promise.all([system.run(), ...others.map(renewAll)]);
    expect(system.target.requests).toHaveLength(3);
  });

  it("requests no unused token, and calls no address that egress refuses", async () => {
    await using system = await start(answering({ access_token: "new" }));
    await insertToken(system.store, system.url, { isUsed: false });
    await system.run();
    const ids = [
      await insertToken(system.store, system.url, {}),
      await insertToken(system.store, system.url.replace("127.0.0.1", "localhost"), {}),
    ];
    await renewAll(system.renewal({ allow: [] }));
    expect(system.target.connections()).toBe(0);
    const reasons = ids.map(async (id) => renewalFailureOf(await system.tokenOf(id)));
    expect(await Promise.all(reasons)).toEqual([
      "the address of the token endpoint is neither public nor in SONDE_EGRESS_ALLOW",
      "the name of the token endpoint has no address, or none that SONDE_EGRESS_ALLOW allows",
    ]);
  });

  it("waits while the owner has no active key in the token's organization", async () => {
    await using system = await start(answering({ access_token: "new" }));
    const { store, run, target } = system;
    const of = { owner_org: "acme", hasKey: false };
    const id = await insertToken(store, system.url, of);
    await insertKey(store, NOON, { org: null });
    const { key_id } = await insertKey(store, NOON, { org: "acme" });
    await store.apiKeys.revoke(key_id, null, NOON);
    await run();
    expect(target.requests).toHaveLength(0);
    await insertKey(store, NOON, { org: "acme", access_level: "VIEWER" });
    await run();
    expect((await system.tokenOf(id)).token.access_token).toBe("new");
  });

  it("keeps a token that its owner changed meanwhile, and checks it again", async () => {
    let change = async (): Promise<void> => undefined;
    await using system = await start((_, response) => {
      void change().then(() => response.end('{"access_token":"late"}'));
    });
    const id = await insertToken(system.store, system.url, {});
    change = async () => {
      const stored = await system.store.documents.get("token", id);
      if (!stored) throw new Error("the token is gone");
      const document = tokenResource.update(
        stored.document as Token,
        { token: { access_token: "of the owner" } },
        NOON,
      );
      await system.store.documents.replace({
        ...stored,
        document,
        filters: {},
      });
    };
    await system.run();
    expect((await system.tokenOf(id)).token.access_token).toBe("of the owner");
    expect(await system.outcomes()).toEqual({ superseded: 1 });
    const due = await system.store.renewals.listDue(NOON + 2 * LEAST_BETWEEN_MS);
    expect(due).toMatchObject([{ id }]);
  });

  it("keeps the reason why a token is withheld since its endpoint was asked", async () => {
    for (const answer of ['{"access_token":"new"}', "no token"]) {
      let change = async (): Promise<void> => undefined;
      await using system = await start((_, response) => {
        void change().then(() => response.end(answer));
      });
      const { documents } = system.store;
      const id = await insertToken(system.store, system.url, { sharer: "bob" });
      change = async () => {
        const token = await documents.get("token", id);
        if (!token) throw new Error("the token is gone");
        const { auth_id } = (token.document as Token).meta;
        const setting = await documents.get("auth_setting", auth_id);
        if (!setting) throw new Error("the setting is gone");
        const before = setting.document as AuthSetting;
        const settings = { ...before.settings, access_token_url: "http://b.example/" };
        const after = { ...setting, document: { ...before, settings } };
        await documents.replace({ ...after, filters: {} });
        const document = afterChange(token, setting, after);
        await documents.replace({ ...token, document, filters: { auth_id } });
      };
      await system.run();
      expect((await system.tokenOf(id)).api_response["renewal_error"]).toBe(
        "the owner of the authentication setting changed settings.access_token_url: update the token to use it there",
      );
    }
  });

  it("presents the client certificate of a setting only for its owner's tokens", async () => {
    const { good, selfSigned } = createCertificates();
    await using system = await start(answering({ access_token: "new", expires_in: 600 }));
    // Nothing of the two is a pair: a token that needs them is not renewed.
    const settings = { ssl_cert: good.cert, ssl_key: selfSigned.key };
    const given = { domain: "127.0.0.1", settings };
    const own = await insertToken(system.store, system.url, given);
    const ofShared = await insertToken(system.store, system.url, { ...given, sharer: "bob" });
    await system.run();
    expect((await system.tokenOf(own)).api_response["renewal_error"]).toBe(
      "the ssl_cert or ssl_key of the setting cannot be read, or they do not match",
    );
    expect((await system.tokenOf(ofShared)).token.access_token).toBe("new");
    expect(system.target.requests).toHaveLength(1);
  });

  it("gives no new token to one that moved to another setting meanwhile", async () => {
    let move = async (): Promise<void> => undefined;
    await using system = await start((_, response) => {
      void move().then(() => response.end('{"access_token":"of the first setting"}'));
    });
    const id = await insertToken(system.store, system.url, {});
    move = async () => {
      const stored = await system.store.documents.get("token", id);
      if (!stored) throw new Error("the token is gone");
      const token = stored.document as Token;
      const document = { ...token, meta: { ...token.meta, auth_id: "another" } };
      await system.store.documents.replace({ ...stored, document, filters: {} });
    };
    await system.run();
    expect((await system.tokenOf(id)).token.access_token).toBeUndefined();
    expect(await system.outcomes()).toEqual({ superseded: 1 });
  });

  it("exchanges a signed assertion for a token", async () => {
    await using system = await start(answering({ access_token: "new", expires_in: 600 }));
    const { privateKey, publicKey } = generateKeyPairSync("rsa", {
      modulusLength: 2048,
    });
    const client_secret = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const id = await insertToken(system.store, system.url, {
      keys: { client_secret },
      token: { grant_type: "" },
      settings: {
        auth_type: "OAUTH2_JWT",
        authorize_url: "https://a.example/audience",
        issuer: "it",
        subject: "sub",
        key_id: "k",
        scope: "read",
      },
    });
    await system.run();
    expect((await system.tokenOf(id)).token.access_token).toBe("new");
    const body = new URLSearchParams(system.target.requests[0]?.body);
    expect([...body.keys()]).toEqual(["grant_type", "assertion", "scope"]);
    expect(body.get("grant_type")).toBe("urn:ietf:params:oauth:grant-type:jwt-bearer");
    const [header = "", claims = "", signature = ""] = body.get("assertion")?.split(".") ?? [];
    const decode = (part: string): unknown => JSON.parse(Buffer.from(part, "base64url").toString());
    expect(decode(header)).toEqual({ alg: "RS256", typ: "JWT", kid: "k" });
    const { iat } = decode(claims) as { iat: number };
    expect(iat).toBeGreaterThanOrEqual(NOON / 1000);
    expect(decode(claims)).toEqual({
      iss: "it",
      sub: "sub",
      aud: "https://a.example/audience",
      iat,
      exp: iat + 300,
      jti: expect.any(String) as string,
      scope: "read",
    });
    expect(
      verify(
        "sha256",
        Buffer.from(`${header}.${claims}`),
        createPublicKey(publicKey.export({ type: "spki", format: "pem" })),
        Buffer.from(signature, "base64url"),
      ),
    ).toBe(true);
  });

  it.each(["domain", "endpoint"])(
    "sends nothing after another owner changes the setting's %s, until the token is updated",
    async (what) => {
      await using system = await start(answering({ access_token: "new", expires_in: 600 }));
      const { store, run, target } = system;
      const id = await insertToken(store, system.url, {
        sharer: "eve",
        token: { grant_type: "password", username: "ann", password: "hush" },
      });
      await run();
      expect(target.requests).toHaveLength(1);

      const token = (await store.documents.get("token", id)) as StoredDocument<Token>;
      const { auth_id } = token.document.meta;
      const setting = (await store.documents.get("auth_setting", auth_id)) as NewDocument;
      const before = setting.document as AuthSetting;
      const document: AuthSetting =
        what === "domain"
          ? { ...before, meta: { ...before.meta, domain: "evil.example" } }
          : { ...before, settings: { ...before.settings, access_token_url: `${system.url}/evil` } };
      await store.documents.replace({ ...setting, document, filters: {} });
      system.clock.moveTo(NOON + 3_600_000);
      await run();
      expect(target.requests).toHaveLength(1);
      expect(await store.renewals.listDue(NOON + 3_600_000)).toEqual([]);

      const updated = ofSetting(token.document, document);
      await store.documents.replace({
        ...token,
        document: updated,
        filters: tokenResource.filters(updated),
      });
      await run();
      expect(target.requests.map(({ url }) => url)).toEqual([
        "/token",
        what === "domain" ? "/token" : "/token/evil",
      ]);
    },
  );
});
