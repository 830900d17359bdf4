import { describe, expect, it } from "vitest";
import { authorize, credentialFault } from "../../../src/agent/authorize/authorize.ts";
import type { Authorization } from "../../../src/model/authorization.ts";
import { MOMENT, newAuthorization, newRequest, newToken, sent } from "./authorizing.ts";

const FOREIGN = /^the authentication setting covers .* the call goes to/;

describe("credentials", () => {
  it.each([
    ["http://a.example/", "a.example", true],
    ["http://deep.below.a.example/", "a.example", true],
    ["http://A.EXAMPLE./", "a.example", true],
    ["http://127.0.0.1:8080/", "127.0.0.1", true],
    ["http://[::1]/", "[::1]", true],
    ["http://b.example/", "a.example", false],
    ["http://evil-a.example/", "a.example", false],
    ["http://a.example.evil.example/", "a.example", false],
    ["http://example/", "a.example", false],
    ["http://a.example/", "", false],
  ])("for %s with a setting for %s: %s", async (url, domain, isSent) => {
    const setting = newAuthorization("BASIC", { domain });
    const authorized = await authorize(newRequest(url), setting, MOMENT, false);
    if (isSent) expect(sent(authorized)).toBe("Basic aWQ6c2VjcmV0");
    else expect(sent(authorized)).toMatch(FOREIGN);
  });

  it.each<[string, Partial<Authorization>, boolean, RegExp]>([
    ["NONE", {}, false, /^$/],
    ["NONE", {}, true, FOREIGN],
    ["NONE", { settings: { ssl_cert: "pem" } }, false, FOREIGN],
    ["MANUAL", {}, false, FOREIGN],
    ["SECOND_FACTOR", {}, false, /does not know the auth_type SECOND_FACTOR/],
    ["toString", {}, false, /does not know the auth_type toString/],
  ])(
    "are checked before a call to another host: %s, %j, used in the call: %s",
    async (auth_type, rest, isUsed, expected) => {
      const setting = newAuthorization(auth_type, rest);
      const request = newRequest("http://b.example/");
      expect(sent(await authorize(request, setting, MOMENT, isUsed))).toMatch(expected);
    },
  );

  it.each([
    [newToken(), "Bearer token"],
    [newToken({ access_token: null }), "the token has no access_token"],
    [
      newToken({ access_token: "a\r\nb" }),
      "the access_token contains characters that headers do not allow",
    ],
    [null, "the call names no token, but its authentication setting requires one"],
  ])("of the token %j are %s", async (token, expected) => {
    for (const auth_type of ["OAUTH2", "OAUTH2_JWT"]) {
      const setting = newAuthorization(auth_type, { token });
      const request = newRequest("https://a.example/");
      expect(sent(await authorize(request, setting, MOMENT, false))).toBe(expected);
    }
  });

  it.each([
    [{ keys: { client_id: "AK\r\nX: 1", client_secret: "s" } }, "Authorization"],
    [{ token: newToken({ access_token: "\u20ac" }) }, "X-Amz-Security-Token"],
  ])("of AMAZON with invalid characters (%j) are not sent", async (rest, header) => {
    const setting = newAuthorization("AMAZON", {
      settings: { region: "r", service: "service" },
      ...rest,
    });
    const request = newRequest("https://a.example/");
    expect(await authorize(request, setting, MOMENT, false)).toEqual({
      reason: `the credentials contain characters that are not allowed in ${header}`,
    });
  });

  it("include a client certificate, whose key may be in the same PEM", async () => {
    const setting = newAuthorization("NONE", { settings: { ssl_cert: "pem" } });
    const request = newRequest("https://a.example/");
    expect(await authorize(request, setting, MOMENT, false)).toMatchObject({
      request: { clientCertificate: { cert: "pem", key: "pem" } },
    });
  });
});

describe("a token", () => {
  const { now } = MOMENT;
  it.each([
    ["OAUTH2", newToken({ expires_at: now + 1 }), undefined],
    ["OAUTH2", newToken(), undefined],
    ["OAUTH2", null, undefined],
    ["BASIC", newToken({ expires_at: now - 1 }), undefined],
    [
      "OAUTH2",
      newToken({ expires_at: now }),
      "credential_expired: the token 'A token' expired at 2015-08-30T12:36:00.000Z",
    ],
    [
      "OAUTH2_JWT",
      newToken({ expires_at: now, renewal_failure: "it answered 400" }),
      "credential_expired: the token 'A token' expired at 2015-08-30T12:36:00.000Z; its renewal failed: it answered 400",
    ],
    [
      "MANUAL",
      newToken({ access_token: null, expires_at: now - 1 }),
      "credential_expired: the token 'A token' expired at 2015-08-30T12:35:59.999Z",
    ],
    [
      "OAUTH2",
      newToken({ access_token: null, renewal_failure: "it answered 500" }),
      "credential_missing: the token 'A token' was not obtained; its renewal failed: it answered 500",
    ],
    [
      "OAUTH2",
      newToken({ access_token: null, is_renewed: true }),
      "credential_missing: the token 'A token' was not obtained",
    ],
    ...["MANUAL", "BASIC"].map((type): [string, Authorization["token"], string] => [
      type,
      { name: "A token", expires_at: null, withheld: "its setting changed" },
      "credential_withheld: the token 'A token' was not sent: its setting changed",
    ]),
  ])("of %s, %j, has the fault %s", (auth_type, token, fault) => {
    const setting = newAuthorization(auth_type, { token });
    expect(credentialFault(setting, now)).toBe(fault);
  });
});

describe("Basic credentials", () => {
  // RFC 7617 sections 2 and 2.1.
  it.each([
    ["Aladdin", "open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="],
    ["test", "123£", "Basic dGVzdDoxMjPCow=="],
    ["only-user", null, "Basic b25seS11c2VyOg=="],
    [null, "only:password", "Basic Om9ubHk6cGFzc3dvcmQ="],
    [null, null, "the authentication setting has no keys"],
    ["with:colon", "x", "the client_id has a colon, which Basic authentication forbids"],
    [
      "user",
      "a\r\nX-Evil: b",
      "the keys have a control character, which Basic authentication forbids",
    ],
  ])("%j and %j are sent as %s", async (client_id, client_secret, expected) => {
    const setting = newAuthorization("BASIC", {
      keys: { client_id, client_secret },
    });
    const request = newRequest("http://a.example/", {
      headers: [{ key: "authorization", value: "of the call" }],
    });
    const authorized = await authorize(request, setting, MOMENT, false);
    expect(sent(authorized)).toBe(expected);
  });

  it("replace the call's own header", async () => {
    const request = newRequest("http://a.example/", {
      headers: [{ key: "authorization", value: "of the call" }],
    });
    const setting = newAuthorization("BASIC");
    expect(await authorize(request, setting, MOMENT, false)).toMatchObject({
      request: {
        headers: [{ key: "Authorization", value: "Basic aWQ6c2VjcmV0" }],
        confidential: { headers: ["authorization"], body: false },
      },
    });
  });
});
