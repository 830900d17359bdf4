import { describe, expect, it } from "vitest";
import { authorizeAmazon } from "../../../src/agent/authorize/amazon.ts";
import type { HttpRequest } from "../../../src/agent/http/http-request.ts";
import type { Authorization } from "../../../src/model/authorization.ts";
import { escapedAgain, escapedOnce, pair, request, signatureOf, SUITE } from "./amazon-signing.ts";
import { MOMENT, newRequest, newToken, sent } from "./authorizing.ts";

const UNRESERVED = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET = SUITE.keys.client_secret ?? "";

const GET = request("GET", "/");
const POST = request("POST", "/");
const mine = (...values: string[]) =>
  request(
    "GET",
    "/",
    values.map((value) => pair("My-Header1", value)),
  );
const form = (type: string) => request("POST", "/", [pair("Content-Type", type)], "Param1=value1");

const HOST = "host;x-amz-date";
const MINE = "host;my-header1;x-amz-date";
const FORM = "content-type;host;x-amz-date";

const VANILLA = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
const POST_VANILLA = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b";

// Without get-header-value-multiline, which is not a valid header.
describe("the AWS Signature Version 4 test suite", () => {
  it.each<[string, HttpRequest, string, string]>([
    ["get-vanilla", GET, HOST, VANILLA],
    [
      "get-vanilla-query and -empty-query-key",
      request("GET", "/?Param1=value1"),
      HOST,
      "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb",
    ],
    [
      "get-vanilla-query-order-key",
      request("GET", "/?Param1=value2&Param1=Value1"),
      HOST,
      "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1",
    ],
    [
      "get-vanilla-query-order-key-case",
      request("GET", "/?Param2=value2&Param1=value1"),
      HOST,
      "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ],
    [
      "get-vanilla-query-order-value",
      request("GET", "/?Param1=value2&Param1=value1"),
      HOST,
      "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694",
    ],
    [
      "get-vanilla-query-unreserved",
      request("GET", `/?${UNRESERVED}=${UNRESERVED}`),
      HOST,
      "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197",
    ],
    [
      "get-vanilla-utf8-query",
      request("GET", "/?ሴ=bar"),
      HOST,
      "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04",
    ],
    [
      "get-unreserved",
      request("GET", `/${UNRESERVED}`),
      HOST,
      "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
    ],
    ["get-relative", request("GET", "/example/.."), HOST, VANILLA],
    ["get-relative-relative", request("GET", "/example1/example2/../.."), HOST, VANILLA],
    ["get-slash", request("GET", "//"), HOST, VANILLA],
    ["get-slash-dot-slash", request("GET", "/./"), HOST, VANILLA],
    [
      "get-slash-pointless-dot",
      request("GET", "/./example"),
      HOST,
      "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5",
    ],
    [
      "get-slashes",
      request("GET", "//example//"),
      HOST,
      "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84",
    ],
    [
      "get-header-key-duplicate",
      mine("value2", "value2", "value1"),
      MINE,
      "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
    ],
    [
      "get-header-value-order",
      mine("value4", "value1", "value3", "value2"),
      MINE,
      "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01",
    ],
    [
      "get-header-value-trim",
      request("GET", "/", [pair("My-Header1", " value1"), pair("My-Header2", ' "a   b   c"')]),
      "host;my-header1;my-header2;x-amz-date",
      "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
    ],
    ["post-vanilla and -header-key-case", POST, HOST, POST_VANILLA],
    [
      "post-vanilla-query",
      request("POST", "/?Param1=value1"),
      HOST,
      "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11",
    ],
    [
      "post-header-key-sort",
      request("POST", "/", [pair("My-Header1", "value1")]),
      MINE,
      "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
    ],
    [
      "post-header-value-case",
      request("POST", "/", [pair("My-Header1", "VALUE1")]),
      MINE,
      "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
    ],
    [
      "post-x-www-form-urlencoded",
      form("application/x-www-form-urlencoded"),
      FORM,
      "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    ],
    [
      "post-x-www-form-urlencoded-parameters",
      form("application/x-www-form-urlencoded; charset=utf8"),
      FORM,
      "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe",
    ],
  ])("%s", async (_, given, signedHeaders, signature) => {
    const authorized = await authorizeAmazon(given, SUITE, MOMENT);
    expect(sent(authorized)).toBe(
      `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=${signedHeaders}, Signature=${signature}`,
    );
    if ("request" in authorized)
      expect(signatureOf(authorized.request, SECRET, escapedAgain)).toBe(signature);
  });

  // The suite escapes these paths once, which only S3 does.
  it.each([
    [
      "get-space",
      "/example space/",
      "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741",
    ],
    ["get-utf8", "/ሴ", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"],
  ])("%s, with the path escaped twice", async (_, path, once) => {
    const given = request("GET", path);
    const authorized = await authorizeAmazon(given, SUITE, MOMENT);
    if ("reason" in authorized) throw new Error(authorized.reason);
    expect(signatureOf(authorized.request, SECRET, escapedOnce)).toBe(once);
    const twice = signatureOf(authorized.request, SECRET, escapedAgain);
    expect(sent(authorized)).toContain(`Signature=${twice}`);
  });

  it("post-sts-header-before: a session token is sent and signed", async () => {
    const access_token =
      "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";
    const setting = { ...SUITE, token: newToken({ access_token }) };
    const authorized = await authorizeAmazon(POST, setting, MOMENT);
    expect(sent(authorized, "X-Amz-Security-Token")).toBe(access_token);
    expect(sent(authorized)).toContain(
      "SignedHeaders=host;x-amz-date;x-amz-security-token, Signature=85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
    );
  });
});

// From botocore 1.43, Amazon's own library.
describe("the signatures of botocore", () => {
  it.each([
    ["service", "=v", "87876a7cd48d3def0ff518063e3d39bcef511476dc0c0181992e69ff6bd20dc9"],
    ["service", "=&=b&a=1", "c2fc4193cfa3b7cdcaa440fbccdc18aced388dafc0200e23e11ddb24847048ea"],
    [
      "service",
      "__proto__=1&a=2",
      "7b2c2244405f6fbc5c90ce1972cae629a62653372d51165d18c5746d258b5a00",
    ],
    ["service", "a=2&a=1&a=", "e4dca7aaf41170c130b07911c02dae16f9fcf5898dd05900cfe6a4267eed3428"],
    [
      "service",
      "a-b=1&a=2&a.b=3",
      "44dc915e128fb18b4aa281bdd0e58275925ae406bc0749e7e6745ec53b158543",
    ],
    ["s3", "=v", "b58baea984ff92df90d2167ae4791750c6008aabb937fb3e866d03e16fd564e3"],
    ["s3", "__proto__=1", "69bb62be48f5a392039e9459db09ada10fcd12dbfe196d71bbb6506f5fed1f47"],
    ["s3", "a=2&a=1&a=", "e8b881837295ac060a1adfe9139335c4bcfa1beab5b27357d64e179744996b9a"],
    [
      "s3",
      "versions&versions=&prefix=x",
      "9e8b4e21b93f968eb303e5230fd06a8070be57af3b2c2f5192d54844492abf0f",
    ],
  ])("%s: GET /?%s", async (service, query, signature) => {
    const setting = { ...SUITE, settings: { ...SUITE.settings, service } };
    const given = request("GET", `/?${query}`);
    expect(sent(await authorizeAmazon(given, setting, MOMENT))).toMatch(
      new RegExp(`, Signature=${signature}$`),
    );
  });
});

describe("the examples of Amazon S3", () => {
  const name = "examplebucket.s3.amazonaws.com";
  const toBucket = (
    path: string,
    headers: HttpRequest["headers"] = [],
    rest: Partial<HttpRequest> = {},
  ): HttpRequest =>
    newRequest(`https://${name}${path}`, {
      headers: [pair("Host", name), ...headers],
      ...rest,
    });
  const ALL = "host;x-amz-content-sha256;x-amz-date";

  it.each<[string, HttpRequest, string, string]>([
    [
      "GET Object",
      toBucket("/test.txt", [pair("Range", "bytes=0-9")]),
      "host;range;x-amz-content-sha256;x-amz-date",
      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    ],
    [
      "PUT Object",
      toBucket(
        "/test$file.text",
        [
          pair("Date", "Fri, 24 May 2013 00:00:00 GMT"),
          pair("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ],
        { method: "PUT", body: Buffer.from("Welcome to Amazon S3.") },
      ),
      `date;${ALL};x-amz-storage-class`,
      "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    ],
    [
      "GET Bucket Lifecycle",
      toBucket("/?lifecycle"),
      ALL,
      "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
    ],
    [
      "GET Bucket (List Objects)",
      toBucket("/?max-keys=2&prefix=J"),
      ALL,
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    ],
  ])("%s", async (_, given, signedHeaders, signature) => {
    const setting: Authorization = {
      ...SUITE,
      settings: {},
      keys: {
        client_id: "AKIAIOSFODNN7EXAMPLE",
        client_secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      },
    };
    const now = Date.UTC(2013, 4, 24);
    expect(sent(await authorizeAmazon(given, setting, { ...MOMENT, now }))).toBe(
      `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=${signedHeaders}, Signature=${signature}`,
    );
  });
});
