// How the form of a call is filled in from another call, or from curl commands.
import { describe, expect, it } from "vitest";
import type { Call } from "../../src/model/call.ts";
import { readCurl } from "../../web/src/curl/curl.ts";
import { bodyOf, copyOf, draftOf, withCurl } from "../../web/src/pages/call-form/call-draft.ts";

const ACCESS = { settings: true, results: true, stats: true, org: true };

const CALL = {
  meta: { name: "Shop", description: null, tags: ["sonde-simulated", "shop"] },
  access: ACCESS,
  request: {
    method: "GET",
    url: "https://shop.example/",
    parameters: [],
    headers: [{ key: "Accept", value: "*/*" }],
    body: null,
    auth_id: "setting",
    token_id: "token",
  },
} as unknown as Call;

describe("a copy of a call", () => {
  it("is like the call, apart from its name; its results are not simulated", () => {
    expect(bodyOf(copyOf(CALL, "owner"))).toEqual({
      meta: { name: "Copy of Shop", description: null, tags: ["shop"] },
      access: ACCESS,
      request: CALL.request,
    });
  });

  it("has neither the token of another owner's call, nor its readers", () => {
    expect(bodyOf(copyOf(CALL, "member"))).toMatchObject({
      access: { settings: false, results: false, stats: false, org: false },
      request: { auth_id: "setting", token_id: null },
    });
  });
});

it("has nothing of an earlier curl command once another one is pasted", () => {
  const requestOf = (command: string) => {
    const { request } = readCurl(command);
    if (!request) throw new Error(`cannot read ${command}`);
    return request;
  };
  const first = requestOf("curl -k -m 2 -u ann:pw https://self-signed.internal/health");
  const second = requestOf("curl -m 5 https://shop.example/orders");
  const draft = { ...draftOf(undefined), tags: ["mine"] };
  const filled = withCurl(withCurl(draft, first), second, first);
  expect(filled).toEqual(withCurl(draft, second));
  expect(withCurl({ ...withCurl(draft, first), name: "Health" }, second, first).name).toBe(
    "Health",
  );
});
