import { describe, expect, it } from "vitest";
import {
  credentialsIn,
  isCredential,
  maskUrl,
} from "../../src/agent/http/credentials.ts";
import { MASK } from "../../src/model/mask.ts";

describe("a name", () => {
  it.each([
    ["Authorization"],
    ["cookie"],
    ["X-Api-Key"],
    ["apikey"],
    ["_token"],
    ["key"],
    ["Ocp-Apim-Subscription-Key"],
    ["access_key"],
    ["client_secret"],
    ["Password"],
    ["X-Amz-Signature"],
    ["X-Amz-Credential"],
    ["PHPSESSIONID"],
  ])("%s is that of a credential", (name) => {
    expect(isCredential(name)).toBe(true);
  });

  it.each([
    ["Accept"],
    ["author"],
    ["WWW-Authenticate"],
    ["monkey"],
    ["keyword"],
    ["Content-Type"],
    ["traceparent"],
    ["Sonde-Run"],
  ])("%s is not that of a credential", (name) => {
    expect(isCredential(name)).toBe(false);
  });
});

it.each([
  [
    "https://a.example/?api%5Fkey=x&q=1",
    `https://a.example/?api%5Fkey=${MASK}&q=1`,
  ],
  ["https://user:pass@a.example/", `https://${MASK}@a.example/`],
  ["https://user:p@ss@a.example/", `https://${MASK}@a.example/`],
  ["/?a?token=x&c", `/?a?token=${MASK}&c`],
  ["/next?token=x#token=y", `/next?token=${MASK}#token=y`],
  ["http://{{host}}/?%zz=1&token=%zz", `http://{{host}}/?%zz=1&token=${MASK}`],
  ["https://a.example/token/x", "https://a.example/token/x"],
])("%s is shown as %s", (url, shown) => {
  expect(maskUrl(url)).toBe(shown);
});

it("a URL of question marks is read once", () => {
  const url = `/${"?".repeat(1_000_000)}`;
  expect(maskUrl(url)).toBe(url);
});

it.each([
  ["Authorization", "Bearer Y9x4-and-more", ["Y9x4-and-more"]],
  ["Authorization", 'Token token="Y9x4-and-more"', ["Y9x4-and-more"]],
  ["Cookie", "a=accepted; session=Y9x4-and-more", ["Y9x4-and-more"]],
  ["X-Api-Key", "one=Y9x4-and-more, two", ["Y9x4-and-more"]],
])("in %s: %s are the credentials %j, among others", (key, value, expected) => {
  const found = credentialsIn(sending(key, value));
  expect(found).toEqual(expect.arrayContaining(expected));
});

it.each([
  "AWS4-HMAC-SHA256 Credential=AKID/20150830/us-east-1/s3/aws4_request, SignedHeaders=content-type;host;user-agent, Signature=0123456789abcdef",
  'OAuth oauth_consumer_key="dpf43f3p2l4k3l03", oauth_signature_method="HMAC-SHA1", oauth_signature="MdpQcU8iPSUjWoN"',
])("words of a signature are none: %s", (value) => {
  const rest = value.slice(value.indexOf(" ") + 1);
  expect(new Set(credentialsIn(sending("Authorization", value)))).toEqual(
    new Set([rest]),
  );
});

const sending = (key: string, value: string) => ({
  method: "GET",
  url: new URL("https://a.example/"),
  headers: [{ key, value }],
  body: null,
});
