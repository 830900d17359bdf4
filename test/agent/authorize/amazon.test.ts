import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { authorizeAmazon } from "../../../src/agent/authorize/amazon.ts";
import type { HttpRequest } from "../../../src/agent/http/http-request.ts";
import type { Authorization } from "../../../src/model/authorization.ts";
import { escapedAgain, escapedOnce, pair, request, signatureOf, SUITE } from "./amazon-signing.ts";
import { MOMENT, newRequest, readClocks, sent } from "./authorizing.ts";

const forService = (service: string): Authorization => ({
  ...SUITE,
  settings: { ...SUITE.settings, service },
});

/** Returns the signature sent, and the one that the receiver computes. */
async function bothSignatures(given: HttpRequest, service: string) {
  const authorized = await authorizeAmazon(given, forService(service), MOMENT);
  if ("reason" in authorized) throw new Error(authorized.reason);
  return {
    sent: /Signature=(\w+)/.exec(sent(authorized))?.[1],
    expected: signatureOf(
      authorized.request,
      SUITE.keys.client_secret ?? "",
      service.startsWith("s3") ? escapedOnce : escapedAgain,
    ),
    url: authorized.request.url.href,
  };
}

describe.each(["service", "s3", "s3express"])("a signature for %s", (service) => {
  it.each([
    "/?filter[name]=a%2Bb",
    "/?filter[name]=a%26b&q=a%26b%2Bc%2Fd",
    "/?ids=1|2&p=a%2Fb",
    "/?q=a^b%2B&r=`%2B",
    "/?a=%zz|&b=%&c=%ff",
    "/?a&b=&c=d=e&&f=+",
    "/?a=2&a=&a=10&a=1&a",
    "/?=b&=&=a",
    "/?__proto__=a&constructor=b&__proto__=",
    "/a[1]/b|c?d=%2B",
    "/a+b%2Bc/100%25",
    "/a//b/%2F/%zz/%ff/",
  ])("matches the request sent to %s", async (path) => {
    const both = await bothSignatures(request("GET", path), service);
    expect(both.sent).toBe(both.expected);
  });

  it("matches a request with more than 1000 parameters", async () => {
    const all = Array.from({ length: 1100 }, (_, at) => `key${at}=1`);
    const given = request("GET", `/?${all.join("&")}`);
    const both = await bothSignatures(given, service);
    expect(both.sent).toBe(both.expected);
  });

  const text = fc
    .array(
      fc.constantFrom(
        ...Array.from("aZ-._~[]|^`{}'()*!:@$,;<>+\"é€𝒳 "),
        ..."%20 %2B %2b %26 %3D %25 %23 %3F %5B %7E %41 %C3%A9".split(" "),
      ),
      { maxLength: 6 },
    )
    .map((pieces) => pieces.join(""));
  const name = fc.oneof(text, fc.constantFrom("", "a", "__proto__"));
  const query = fc
    .array(fc.tuple(name, text), { maxLength: 8 })
    .map((pairs) => pairs.map((named) => named.join("=")).join("&"));
  const path = fc.array(text, { maxLength: 3 }).map((all) => all.join("/"));

  it("matches the request sent to any URL", async () => {
    await fc.assert(
      fc.asyncProperty(path, query, async (odd, parameters) => {
        const given = request("GET", `/${odd}?${parameters}`);
        const both = await bothSignatures(given, service);
        expect(both.sent).toBe(both.expected);
        expect(decodeURI(both.url)).toBe(decodeURI(given.url.href));
      }),
    );
  });
});

it("a character that is invalid in a path is escaped before signing", async () => {
  const { url } = await bothSignatures(request("GET", "/a[1]|b?c[d]"), "s");
  expect(url).toBe("https://example.amazonaws.com/a%5B1%5D%7Cb?c[d]");
});

it.each([600_000, -600_000])(
  "a signature is correct when the machine's clock is wrong by %i ms",
  async (wrongBy) => {
    const { machine, agent } = readClocks(MOMENT.now, wrongBy);
    const signedAt = async (now: number) =>
      sent(await authorizeAmazon(request("GET", "/"), SUITE, { ...MOMENT, now }));
    const vector = "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
    expect(await signedAt(agent)).toContain(vector);
    expect(await signedAt(machine)).not.toContain(vector);
  },
);

it.each([
  ["bucket.s3.eu-west-1.amazonaws.com", "eu-west-1/s3"],
  ["bucket.s3.dualstack.eu-west-1.amazonaws.com", "eu-west-1/s3"],
  ["s3.dualstack.eu-west-1.amazonaws.com", "eu-west-1/s3"],
  ["bucket.s3-accelerate.amazonaws.com", "us-east-1/s3"],
  ["bucket.s3-accelerate.dualstack.amazonaws.com", "us-east-1/s3"],
  ["s3-eu-west-1.amazonaws.com", "eu-west-1/s3"],
  ["x.s3.cn-north-1.amazonaws.com.cn", "cn-north-1/s3"],
  ["abc.execute-api.us-west-2.amazonaws.com", "us-west-2/execute-api"],
  ["search-x.eu-west-1.es.amazonaws.com", "eu-west-1/es"],
  ["sts.amazonaws.com", "us-east-1/sts"],
  ["s3-fips.dualstack.us-gov-west-1.amazonaws.com", "us-gov-west-1/s3"],
  ["bucket-1.s3-eu-west-1.amazonaws.com", "eu-west-1/s3"],
  ["my-bucket-1.s3.amazonaws.com", "us-east-1/s3"],
  ["s3-external-1.amazonaws.com", "us-east-1/s3"],
  ["x.aoss.eu-west-1.amazonaws.com", "eu-west-1/aoss"],
  ["x.eu-west-1.aoss.amazonaws.com", "eu-west-1/aoss"],
  ["email.eu-west-1.amazonaws.com", "eu-west-1/ses"],
  ["email-fips.us-west-2.amazonaws.com", "us-west-2/ses"],
  ["a-1.s3-accesspoint.eu-west-1.amazonaws.com", "eu-west-1/s3"],
  ["a-1.s3-accesspoint-fips.dualstack.us-east-1.amazonaws.com", "us-east-1/s3"],
  ["1.s3-control.eu-west-1.amazonaws.com", "eu-west-1/s3"],
  ["1.s3-control-fips.us-gov-west-1.amazonaws.com", "us-gov-west-1/s3"],
  ["1.s3-outposts.eu-west-1.amazonaws.com", "eu-west-1/s3-outposts"],
  ["a--use1-az4--x-s3.s3express-use1-az4.us-east-1.amazonaws.com", "us-east-1/s3express"],
  ["s3express-control.us-east-1.amazonaws.com", "us-east-1/s3express"],
  ["bucket.vpce-1a-2b.s3.us-east-1.vpce.amazonaws.com", "us-east-1/s3"],
  ["vpce-1a-2b.execute-api.us-east-1.vpce.amazonaws.com", "us-east-1/execute-api"],
  ["dynamodb.eusc-de-east-1.amazonaws.eu", "eusc-de-east-1/dynamodb"],
  ["lambda.eu-west-1.api.aws", "eu-west-1/lambda"],
  ["lambda-fips.us-east-2.api.aws", "us-east-2/lambda"],
  ["iam.global.api.aws", "us-east-1/iam"],
  ["abc.lambda-url.eu-west-1.on.aws", "eu-west-1/lambda"],
  ["svc-1.7d67968.vpc-lattice-svcs.eu-west-1.on.aws", "eu-west-1/vpc-lattice-svcs"],
  ["search-x.aos.eu-west-1.on.aws", "eu-west-1/es"],
  ["x.aoss.eu-west-1.on.aws", "eu-west-1/aoss"],
])("the host %s names %s", async (name, scope) => {
  const setting = { ...SUITE, settings: {} };
  const given = newRequest(`https://${name}/`);
  expect(sent(await authorizeAmazon(given, setting, MOMENT))).toContain(
    `Credential=AKIDEXAMPLE/20150830/${scope}/aws4_request,`,
  );
});

it.each([
  ["s3", "x"],
  ["S3", "x"],
  ["s3", null],
  ["aoss", "x"],
  ["aoss", null],
])("a request to the service %s carries the hash of the body %j", async (service, body) => {
  const given = newRequest("https://storage.example/", {
    headers: [pair("Host", "storage.example")],
    body: body === null ? null : Buffer.from(body),
  });
  const setting = forService(service);
  const authorized = await authorizeAmazon(given, setting, MOMENT);
  expect(sent(authorized, "X-Amz-Content-Sha256")).toBe(
    body === null
      ? "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
      : "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
  );
  expect(sent(authorized)).toContain(
    `/us-east-1/${service.toLowerCase()}/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date,`,
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

it.each<[string, string, Partial<Authorization>]>([
  [
    "neither the authentication setting nor the host names a service",
    "https://a.example/",
    { settings: {} },
  ],
  [
    "the authentication setting needs a client_id and client_secret",
    "https://a.example/",
    { keys: { client_id: "id" } },
  ],
])("%s: %s with %j", async (reason, url, rest) => {
  const setting = { ...SUITE, ...rest };
  expect(await authorizeAmazon(newRequest(url), setting, MOMENT)).toEqual({
    reason,
  });
});
