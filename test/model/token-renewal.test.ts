import { describe, expect, it } from "vitest";
import type { AuthSetting } from "../../src/model/auth-setting.ts";
import type { TickToken } from "../../src/model/authorization.ts";
import {
  awaitsRenewal,
  isRenewable,
  renewalFailureOf,
  renewalTime,
  renewedToken,
  unrenewedToken,
  withRenewal,
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
  expect(isRenewable(newSetting({ auth_type }), newToken(token))).toBe(expected);
  expect(isRenewable(newSetting({ auth_type, access_token_url: null }), newToken(token))).toBe(
    false,
  );
});

it.each([
  ["without an access token: at once", {}, 0],
  ["that does not expire: never", { access_token: "a" }, null],
  [
    "of an unknown life: three minutes ahead",
    { access_token: "a", expire_time: at(600) },
    NOON + 420_000,
  ],
  [
    "of an hour: a tenth ahead",
    { access_token: "a", expire_time: at(3600), expires_in: 3600 },
    NOON + 3_240_000,
  ],
  [
    "of ten minutes: three minutes ahead",
    { access_token: "a", expire_time: at(600), expires_in: 600 },
    NOON + 420_000,
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
    [{ access_token: "new" }, { access_token: "new", refresh_token: "r1", expire_time: null }],
  ])("of %j renews the token", (answer, expected) => {
    expect(renewedToken(before, answer, NOON)).toEqual({
      ...before,
      token: { grant_type: "refresh_token", ...expected },
      api_response: answer,
    });
  });

  it.each<[unknown, number | undefined]>([
    [1, 1],
    [1.5, 1],
    ["3600", 3600],
    [9e15, 3_153_600_000],
    [`1${"0".repeat(400)}`, 3_153_600_000],
    [0, undefined],
    ["0", undefined],
    [-5, undefined],
    ["", undefined],
    ["-5", undefined],
    ["0x10", undefined],
    ["1e3", undefined],
    [" 60", undefined],
    [true, undefined],
    [null, undefined],
    [[7200], undefined],
  ])("with expires_in %j makes it last %s s", (expires_in, seconds) => {
    const answer = { access_token: "new", expires_in };
    const { token } = renewedToken(before, answer, NOON) as Token;
    expect(token.expires_in).toBe(seconds);
    expect(token.expire_time).toBe(seconds === undefined ? null : at(seconds));
  });

  it("may hold any character beside its secrets", () => {
    const answer = { access_token: "new", token_type: "Bearer\0", scope: "a\ud800", "x\0": ["\0"] };
    const { token, api_response } = renewedToken(before, answer, NOON) as Token;
    const kept = { token_type: "Bearer\ufffd", scope: "a\ufffd" };
    expect(token).toMatchObject({ access_token: "new", ...kept });
    expect(api_response).toEqual({ access_token: "new", ...kept, "x\ufffd": ["\ufffd"] });
  });

  it.each([
    ["access_token", "a\0"],
    ["access_token", "a\ud800"],
    ["refresh_token", "r\0"],
  ])("is refused if its %s is %j", (name, secret) => {
    expect(renewedToken(before, { access_token: "new", [name]: secret }, NOON)).toBe(
      `the ${name} in the answer of the token endpoint contains a NUL character or a lone surrogate`,
    );
  });

  it("cannot set the token's renewal_error", () => {
    const answer = { access_token: "new", renewal_error: "of the endpoint" };
    const renewed = renewedToken(before, answer, NOON) as Token;
    expect(renewed.api_response).toEqual({ access_token: "new" });
  });

  it.each([
    ["the access_token", { access_token: "x".repeat(65_537) }],
    ["the refresh_token", { refresh_token: "x".repeat(65_537) }],
    ["the scope", { scope: "x".repeat(8193) }],
    ["the token_type", { token_type: "x".repeat(8193) }],
    ["the object", { id_token: "x".repeat(65_536) }],
  ])("is refused if it is too large to be kept: %s", (what, answer) => {
    expect(renewedToken(before, { access_token: "new", ...answer }, NOON)).toBe(
      `${what} in the answer of the token endpoint is too large to be kept`,
    );
  });

  it("is refused if it is nested deeper than what the API takes back", () => {
    const answer = (levels: number) =>
      JSON.parse(
        `{"access_token":"new","id":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`,
      ) as object;
    expect(renewedToken(before, { ...answer(31) }, NOON)).toMatchObject({
      api_response: answer(31),
    });
    for (const levels of [32, 4000, 30_000])
      expect(renewedToken(before, { ...answer(levels) }, NOON)).toBe(
        "the answer of the token endpoint is nested deeper than 31 levels",
      );
  });

  it.each([{}, { access_token: "" }, { access_token: 7 }])("of %j renews no token", (answer) => {
    expect(renewedToken(before, answer, NOON)).toBe(
      "the token endpoint answered without an access_token",
    );
  });
});

it.each([
  ["keeps", true, "late"],
  ["ends", false, null],
])("an owner's change %s a renewal's failure if renewal goes on: %s", (_, isRenewed, failure) => {
  const failed = unrenewedToken(newToken({ access_token: "a" }), "late");
  const changed = newToken({ access_token: "mine" });
  expect(renewalFailureOf(withRenewal(failed, changed, isRenewed))).toBe(failure);
});

describe("a run due at 12:00:00, which may start until 12:01:00,", () => {
  const due = { due_time: NOON, latest_start: NOON + 60_000 };
  const failed = { renewal_failure: "it said 400" };
  const token = (change: object): TickToken => ({
    name: "t",
    access_token: "a",
    expires_at: NOON + 60_001,
    is_renewed: true,
    ...change,
  });
  const none = { access_token: undefined, expires_at: null };
  const never = Number.NEGATIVE_INFINITY;

  it.each<[string, object, number]>([
    ["that lasts", {}, never],
    ["that does not expire", { expires_at: null }, never],
    ["that we do not renew", { ...none, is_renewed: undefined }, never],
    ["that ends while it may start", { expires_at: NOON + 60_000 }, -5],
    ["that ends then, failing", { expires_at: NOON + 60_000, ...failed }, -5],
    ["that ends before it is due", { expires_at: NOON }, 55],
    ["that ends before, failing", { expires_at: NOON, ...failed }, -5],
    ["that is not there yet", none, 55],
    ["that could not be obtained", { ...none, ...failed }, -5],
  ])("with a token %s (%j) waits until second %d", (_, change, until) => {
    for (const second of [-70, -6, -5, 0, 54, 55, 70])
      expect([second, awaitsRenewal(token(change), due, NOON + second * 1000)]).toEqual([
        second,
        second < until,
      ]);
  });

  it("waits once its token has expired", () => {
    const ended = token({ expires_at: NOON + 10_000 });
    expect(awaitsRenewal(ended, due, NOON + 9000)).toBe(false);
    expect(awaitsRenewal(ended, due, NOON + 11_000)).toBe(true);
  });
});

it("a failure is kept until the next success", () => {
  const failed = unrenewedToken(newToken({ access_token: "a" }), "it said 400");
  expect(failed.token.access_token).toBe("a");
  expect(renewalFailureOf(failed)).toBe("it said 400");
  const renewed = renewedToken(failed, { access_token: "b" }, NOON) as Token;
  expect(renewalFailureOf(renewed)).toBeNull();
});
