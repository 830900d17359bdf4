import { expect, it } from "vitest";
import { credentialsIn } from "../../../src/agent/http/http-request.ts";

it.each([
  ["Authorization", "Bearer Y9x4-and-more", ["Y9x4-and-more"]],
  ["Authorization", 'Token token="Y9x4-and-more"', ["Y9x4-and-more"]],
  ["Cookie", "a=accepted; session=Y9x4-and-more", ["Y9x4-and-more"]],
  ["X-Api-Key", "one=Y9x4-and-more, two", ["Y9x4-and-more"]],
  [
    "Authorization",
    'OAuth oauth_signature_method="PLAINTEXT", oauth_signature="hush%2521%26more"',
    ["hush%2521%26more"],
  ],
])("%s: %s contains the credentials %j", (key, value, expected) => {
  const found = credentialsIn(sending(key, value));
  expect(found).toEqual(expect.arrayContaining(expected));
});

it.each([
  "AWS4-HMAC-SHA256 Credential=AKID/20150830/us-east-1/s3/aws4_request, SignedHeaders=content-type;host;user-agent, Signature=0123456789abcdef",
  'OAuth oauth_consumer_key="dpf43f3p2l4k3l03", oauth_signature_method="HMAC-SHA1", oauth_signature="MdpQcU8iPSUjWoN"',
])("the parts of a signature are not credentials: %s", (value) => {
  const rest = value.slice(value.indexOf(" ") + 1);
  expect(new Set(credentialsIn(sending("Authorization", value)))).toEqual(new Set([rest]));
});

const sending = (key: string, value: string) => ({
  method: "GET",
  url: new URL("https://a.example/"),
  headers: [{ key, value }],
  body: null,
});
