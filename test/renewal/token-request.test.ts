import { describe, expect, it } from "vitest";
import { authSettingResource } from "../../src/model/auth-setting.ts";
import { tokenResource } from "../../src/model/token.ts";
import { tokenRequest } from "../../src/renewal/token-request.ts";
import { createCertificates } from "../support/certificates.ts";

const NOON = Date.UTC(2026, 9, 1, 12);
const identity = { id: "id", owner: "ann", now: NOON };
const URL_WITH_QUERY = "https://a.example/token?tenant=7&scope=of+the+url";

const request = (token: object, settings: object) =>
  tokenRequest(
    authSettingResource.create(
      {
        meta: { name: "s", domain: "a.example" },
        keys: { client_id: "me", client_secret: "hush" },
        settings: {
          auth_type: "OAUTH2",
          access_token_url: URL_WITH_QUERY,
          ...settings,
        },
      },
      identity,
    ),
    tokenResource.create({ meta: { name: "t", auth_id: "s" }, token }, identity),
    { now: NOON, id: "jti" },
  );

it.each<[string, object, object, object]>([
  [
    "the password grant names the user",
    { grant_type: "password", username: "ann@a.example", password: "p&q" },
    { scope: "read" },
    {
      method: "POST",
      url: URL_WITH_QUERY,
      body: "grant_type=password&username=ann%40a.example&password=p%26q&scope=read&client_id=me&client_secret=hush",
    },
  ],
  [
    "a refresh keeps the scope that was granted",
    { grant_type: "refresh_token", refresh_token: "r", scope: "granted" },
    { scope: "read", audience: "https://a.example" },
    {
      method: "POST",
      body: "grant_type=refresh_token&refresh_token=r&client_id=me&client_secret=hush",
    },
  ],
  [
    "GET keeps the URL's own query, but for what the grant says itself",
    { grant_type: "client_credentials" },
    {
      scope: "read",
      get_token_method: true,
      basic_auth_get_token_method: true,
    },
    {
      method: "GET",
      url: "https://a.example/token?tenant=7&scope=read&grant_type=client_credentials",
      body: null,
    },
  ],
])("%s", async (_, token, settings, expected) => {
  const made = await request(token, settings);
  if (typeof made === "string") throw new Error(made);
  expect({ ...made, url: made.url.href }).toMatchObject(expected);
});

describe("the client certificate of a setting", () => {
  const { good, selfSigned } = createCertificates();
  const pair = { ssl_cert: good.cert, ssl_key: good.key };
  const grant = { grant_type: "client_credentials" };
  const elsewhere = "https://b.example/token";

  it.each([
    ["is presented within its domain", pair, { cert: good.cert, key: good.key }],
    ["is presented nowhere else", { ...pair, access_token_url: elsewhere }, undefined],
    ["is not presented without its key", { ...pair, ssl_key: null }, undefined],
  ])("%s", async (_, settings, clientCertificate) => {
    const made = await request(grant, settings);
    expect(typeof made === "string" ? made : made.clientCertificate).toEqual(clientCertificate);
  });

  it("must have its own key", async () => {
    expect(await request(grant, { ...pair, ssl_key: selfSigned.key })).toBe(
      "the ssl_cert or ssl_key of the setting cannot be read, or they do not match",
    );
  });
});
