import { describe, expect, it } from "vitest";
import { authorizeAmazon } from "../../../src/agent/authorize/amazon.ts";
import type { HttpRequest } from "../../../src/agent/http-request.ts";
import type { Authorization } from "../../../src/model/authorization.ts";
import {
  MOMENT,
  newAuthorization,
  newRequest,
  newToken,
  readClocks,
  sent,
} from "./authorizing.ts";

// The keys and the time of the AWS Signature Version 4 test suite.
const SUITE = newAuthorization("AMAZON", {
  domain: "amazonaws.com",
  settings: { region: "us-east-1", service: "service" },
  keys: {
    client_id: "AKIDEXAMPLE",
    client_secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  },
});

const host = (value: string) => ({ key: "Host", value });

const request = (
  method: string,
  path: string,
  headers: HttpRequest["headers"] = [],
  body: string | null = null,
): HttpRequest =>
  newRequest(`https://example.amazonaws.com${path}`, {
    method,
    headers: [host("example.amazonaws.com"), ...headers],
    body: body === null ? null : Buffer.from(body),
  });

const UNRESERVED =
  "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const pair = (key: string, value: string) => ({ key, value });

describe("the AWS Signature Version 4 test suite", () => {
  it.each<[string, HttpRequest, string, string]>([
    [
      "get-vanilla",
      request("GET", "/"),
      "host;x-amz-date",
      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    ],
    [
      "get-vanilla-query-order-key-case",
      request("GET", "/?Param2=value2&Param1=value1"),
      "host;x-amz-date",
      "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ],
    [
      "get-vanilla-query-order-value",
      request("GET", "/?Param1=value2&Param1=value1"),
      "host;x-amz-date",
      "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694",
    ],
    [
      "get-vanilla-query-unreserved",
      request("GET", `/?${UNRESERVED}=${UNRESERVED}`),
      "host;x-amz-date",
      "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197",
    ],
    [
      "get-vanilla-utf8-query",
      request("GET", "/?ሴ=bar"),
      "host;x-amz-date",
      "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04",
    ],
    [
      "get-header-value-trim",
      request("GET", "/", [
        pair("My-Header1", " value1"),
        pair("My-Header2", ' "a   b   c"'),
      ]),
      "host;my-header1;my-header2;x-amz-date",
      "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
    ],
    [
      "get-header-key-duplicate",
      request("GET", "/", [
        pair("My-Header1", "value2"),
        pair("My-Header1", "value2"),
        pair("My-Header1", "value1"),
      ]),
      "host;my-header1;x-amz-date",
      "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
    ],
    [
      "post-vanilla",
      request("POST", "/"),
      "host;x-amz-date",
      "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
    ],
    [
      "post-header-key-sort",
      request("POST", "/", [pair("My-Header1", "value1")]),
      "host;my-header1;x-amz-date",
      "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
    ],
    [
      "post-x-www-form-urlencoded",
      request(
        "POST",
        "/",
        [pair("Content-Type", "application/x-www-form-urlencoded")],
        "Param1=value1",
      ),
      "content-type;host;x-amz-date",
      "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    ],
  ])("%s", async (_, given, signedHeaders, signature) => {
    expect(sent(await authorizeAmazon(given, SUITE, MOMENT))).toBe(
      `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=${signedHeaders}, Signature=${signature}`,
    );
  });
});

it.each([600_000, -600_000])(
  "a machine's clock that is wrong by %i ms does not spoil the signature",
  async (wrongBy) => {
    const { machine, agent } = readClocks(MOMENT.now, wrongBy);
    const signedAt = async (now: number) =>
      sent(
        await authorizeAmazon(request("GET", "/"), SUITE, { ...MOMENT, now }),
      );
    const vector =
      "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
    expect(await signedAt(agent)).toContain(vector);
    expect(await signedAt(machine)).not.toContain(vector);
  },
);

describe("the examples of Amazon S3", () => {
  it.each([
    [
      "?lifecycle",
      "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
    ],
    [
      "?max-keys=2&prefix=J",
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    ],
  ])("GET /%s", async (query, signature) => {
    const name = "examplebucket.s3.amazonaws.com";
    const given = newRequest(`https://${name}/${query}`, {
      headers: [host(name)],
    });
    const setting: Authorization = {
      ...SUITE,
      settings: {},
      keys: {
        client_id: "AKIAIOSFODNN7EXAMPLE",
        client_secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      },
    };
    const now = Date.UTC(2013, 4, 24);
    expect(
      sent(await authorizeAmazon(given, setting, { ...MOMENT, now })),
    ).toBe(
      `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=${signature}`,
    );
  });
});

it("a session token is sent and signed", async () => {
  const setting = { ...SUITE, token: newToken({ access_token: "session" }) };
  const authorized = await authorizeAmazon(
    request("GET", "/"),
    setting,
    MOMENT,
  );
  expect(sent(authorized, "X-Amz-Security-Token")).toBe("session");
  expect(sent(authorized)).toContain(
    "SignedHeaders=host;x-amz-date;x-amz-security-token,",
  );
});

it("the agent's own headers and cookies are not signed", async () => {
  const own = ["User-Agent", "Accept", "traceparent", "Sonde-Run", "Cookie"];
  const given = request(
    "GET",
    "/",
    own.map((key) => pair(key, "x")),
  );
  expect(sent(await authorizeAmazon(given, SUITE, MOMENT))).toContain(
    "SignedHeaders=host;x-amz-date,",
  );
});

it("what cannot be signed says why", async () => {
  const reasonOf = async (url: string, setting: Authorization) =>
    sent(await authorizeAmazon(newRequest(url), setting, MOMENT));
  const noService = { ...SUITE, settings: {} };
  expect(await reasonOf("https://a.example/", noService)).toBe(
    "the authentication setting names no service, nor does the host",
  );
  const noKeys = { ...SUITE, keys: { client_id: "id" } };
  expect(await reasonOf("https://a.example/", noKeys)).toBe(
    "the authentication setting needs a client_id and client_secret",
  );
  expect(await reasonOf("https://a.example/%ff|", SUITE)).toBe(
    "the URL has an escape that cannot be signed",
  );
});
