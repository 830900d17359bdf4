import { describe, expect, it } from "vitest";
import { isCredential, maskUrl } from "../../src/model/credential-names.ts";
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
  ["https://a.example/?api%5Fkey=x&q=1", `https://a.example/?api%5Fkey=${MASK}&q=1`],
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
