import { expect, it } from "vitest";
import { authorize } from "../../../src/agent/authorize/authorize.ts";
import { DEFAULT_BEHAVIOUR } from "../../../src/model/behaviour.ts";
import { parseEgressAllow } from "../../../src/net/egress.ts";
import { createHttpCaller } from "../../../src/agent/http/http-call.ts";
import type { HttpRequest } from "../../../src/agent/http/http-request.ts";
import type { Authorization } from "../../../src/model/authorization.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { startTarget } from "../../support/target-server.ts";
import type { HttpTarget } from "../../support/target-server.ts";
import { codeOf } from "../calling.ts";
import { MOMENT, newAuthorization, newRequest } from "./authorizing.ts";

const caller = createHttpCaller({
  clock: systemClock,
  egress: parseEgressAllow(["127.0.0.1"]),
});

const redirectingTo = (location: string, status = 307) =>
  startTarget((request, response) => {
    if (request.url === "/first?a=1") response.writeHead(status, { location });
    response.end();
  });

async function callSigned(
  target: HttpTarget,
  setting: Authorization,
  rest: Partial<HttpRequest> = {},
) {
  const request = newRequest(`${target.url}/first?a=1`, rest);
  const signed = await authorize(request, setting, MOMENT, false);
  if ("reason" in signed) throw new Error(signed.reason);
  const outcome = await caller.call(signed.request, DEFAULT_BEHAVIOUR);
  return { outcome, received: target.requests.at(-1) };
}

const onTarget = (auth_type: string, settings = {}): Authorization =>
  newAuthorization(auth_type, { domain: "127.0.0.1", settings });

it.each([
  ["OAUTH1", onTarget("OAUTH1"), "authorization"],
  ["AMAZON", onTarget("AMAZON", { region: "us-east-1", service: "service" }), "authorization"],
  ["OAUTH2_JWS", onTarget("OAUTH2_JWS", { algorithm: "HS256" }), "x-jws-signature"],
])("an %s signature covers the redirected request", async (_, setting, header) => {
  await using target = await redirectingTo("/second?b=%7E&b=");
  const { received } = await callSigned(target, setting);
  const sent = String(received?.headers[header]);
  const again = await authorize(
    newRequest(`${target.url}/second?b=%7E&b=`, {
      headers: [{ key: "Host", value: new URL(target.url).host }],
    }),
    setting,
    {
      now: instantOf(received?.headers["x-amz-date"], sent),
      nonce: /oauth_nonce="(\w+)"/.exec(sent)?.[1] ?? "",
    },
    false,
  );
  if ("reason" in again) throw new Error(again.reason);
  expect(received?.url).toBe("/second?b=%7E&b=");
  expect(sent).toBe(again.request.headers.find(({ key }) => key.toLowerCase() === header)?.value);
});

/** The time in a signature: AMAZON's date, OAUTH1's timestamp. */
function instantOf(date: unknown, header: string): number {
  const iso = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(String(date));
  if (iso) {
    const [year = 0, month = 1, ...rest] = iso.slice(1).map(Number);
    return Date.UTC(year, month - 1, ...rest);
  }
  return Number(/oauth_timestamp="(\d+)"/.exec(header)?.[1] ?? 0) * 1000;
}

it("each request has its own nonce", async () => {
  await using target = await redirectingTo("/second");
  await callSigned(target, onTarget("OAUTH1"));
  const [first, second] = target.requests.map(
    ({ headers }) => /oauth_nonce="(\w+)"/.exec(headers.authorization ?? "")?.[1],
  );
  expect(first).toBe("nonce");
  expect(second).toMatch(/^\w{32}$/);
});

it("a body that a redirect drops is not signed", async () => {
  await using target = await redirectingTo("/second", 303);
  const setting = onTarget("OAUTH2_JWS", { algorithm: "HS256" });
  const body = Buffer.from("signed");
  await callSigned(target, setting, { method: "POST", body });
  const payloads = target.requests.map(({ headers }) =>
    Buffer.from(String(headers["x-jws-signature"]).split(".")[1] ?? "", "base64url").toString(),
  );
  expect(payloads).toEqual(["signed", ""]);
});

it.each([
  ["OAUTH1", onTarget("OAUTH1")],
  ["AMAZON", onTarget("AMAZON", { region: "us-east-1", service: "s3" })],
])("a request to another host has nothing of an %s signature", async (_, setting) => {
  await using other = await startTarget((_request, response) => response.end());
  await using target = await redirectingTo(other.url);
  await callSigned(target, setting);
  const [received] = other.requests;
  expect(received?.headers).not.toHaveProperty("authorization");
  expect(Object.keys(received?.headers ?? {}).filter((name) => name.startsWith("x-amz-"))).toEqual(
    [],
  );
});

it("a redirect that cannot be signed is not followed", async () => {
  await using target = await redirectingTo("/second");
  const request = newRequest(`${target.url}/first?a=1`, {
    sign: () => Promise.resolve({ reason: "it has no service" }),
  });
  const outcome = await caller.call(request, DEFAULT_BEHAVIOUR);
  expect(outcome.result).toBe("HTTP_REDIRECT_ERROR");
  expect(codeOf(outcome)).toBe("redirect_invalid");
  expect(outcome.hops).toEqual([]);
  expect(target.requests).toHaveLength(1);
});
