import { describe, expect, it } from "vitest";
import type { AuthSetting } from "../../src/model/auth-setting.ts";
import {
  isRenewable,
  renewalFailureOf,
  renewalTime,
  renewedToken,
  unrenewedToken,
} from "../../src/model/token-renewal.ts";
import type { Token } from "../../src/model/token.ts";

const NOON = Date.UTC(2026, 9, 1, 12);
const at = (seconds: number): string =>
  new Date(NOON + seconds * 1000).toISOString().replace("Z", "000Z");

const newToken = (token: Partial<Token["token"]>): Token =>
  ({
    id: "t",
    meta: {},
    token: { expire_time: null, ...token },
    api_response: {},
  }) as Token;

const newSetting = (settings: object): AuthSetting =>
  ({
    settings: { access_token_url: "https://a.example/token", ...settings },
  }) as AuthSetting;

it.each([
  ["OAUTH2", { grant_type: "client_credentials" }, true],
  ["OAUTH2", { grant_type: "password" }, true],
  ["OAUTH2", { grant_type: "refresh_token", refresh_token: "r" }, true],
  ["OAUTH2", { grant_type: "refresh_token" }, false],
  ["OAUTH2", { grant_type: "authorization_code" }, false],
  ["OAUTH2", {}, false],
  ["OAUTH2_JWT", {}, true],
  ["OAUTH1", { grant_type: "client_credentials" }, false],
  ["BASIC", { grant_type: "client_credentials" }, false],
])("a token of %s with %j can be renewed: %s", (auth_type, token, expected) => {
  expect(isRenewable(newSetting({ auth_type }), newToken(token))).toBe(
    expected,
  );
  expect(
    isRenewable(
      newSetting({ auth_type, access_token_url: null }),
      newToken(token),
    ),
  ).toBe(false);
});

it.each([
  ["without an access token: at once", {}, 0],
  ["that does not expire: never", { access_token: "a" }, null],
  [
    "of an unknown life: a minute ahead",
    { access_token: "a", expire_time: at(600) },
    NOON + 540_000,
  ],
  [
    "of an hour: a tenth ahead",
    { access_token: "a", expire_time: at(3600), expires_in: 3600 },
    NOON + 3_240_000,
  ],
  [
    "of five minutes: a minute ahead",
    { access_token: "a", expire_time: at(300), expires_in: 300 },
    NOON + 240_000,
  ],
  [
    "of half a minute: half of it ahead",
    { access_token: "a", expire_time: at(30), expires_in: 30 },
    NOON + 15_000,
  ],
])("a token %s", (_, token, expected) => {
  expect(renewalTime(newToken(token))).toBe(expected);
});

describe("an answer", () => {
  const before = newToken({
    access_token: "old",
    refresh_token: "r1",
    expires_in: 60,
    expire_time: at(0),
    grant_type: "refresh_token",
  });

  it.each([
    [
      { access_token: "new", expires_in: 3600, refresh_token: "r2" },
      {
        access_token: "new",
        expires_in: 3600,
        refresh_token: "r2",
        expire_time: at(3600),
      },
    ],
    [
      { access_token: "new", expires_in: "90", token_type: "Bearer" },
      {
        access_token: "new",
        expires_in: 90,
        refresh_token: "r1",
        token_type: "Bearer",
        expire_time: at(90),
      },
    ],
    [
      { access_token: "new" },
      { access_token: "new", refresh_token: "r1", expire_time: null },
    ],
  ])("of %j makes the token new", (answer, expected) => {
    expect(renewedToken(before, answer, NOON)).toEqual({
      ...before,
      token: { grant_type: "refresh_token", ...expected },
      api_response: answer,
    });
  });

  it.each([{}, { access_token: "" }, { access_token: 7 }])(
    "of %j does not",
    (answer) => {
      expect(renewedToken(before, answer, NOON)).toBe(
        "the token endpoint answered without an access_token",
      );
    },
  );
});

it("a failure is kept until the next success", () => {
  const failed = unrenewedToken(newToken({ access_token: "a" }), "it said 400");
  expect(failed.token.access_token).toBe("a");
  expect(renewalFailureOf(failed)).toBe("it said 400");
  const renewed = renewedToken(failed, { access_token: "b" }, NOON) as Token;
  expect(renewalFailureOf(renewed)).toBeNull();
});
