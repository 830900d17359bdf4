// Shared by the tests of authentication types: a request, and an authentication setting for its
// host.
import type { BuiltRequest, HttpRequest } from "../../../src/agent/http/http-request.ts";
import { createHubClock } from "../../../src/agent/hub-clock.ts";
import type { Authorization } from "../../../src/model/authorization.ts";
import { createManualClock } from "../../support/manual-clock.ts";

export const newRequest = (
  url: string,
  rest: Partial<Omit<HttpRequest, "url">> = {},
): HttpRequest => ({
  method: "GET",
  url: new URL(url),
  headers: [],
  body: null,
  ...rest,
});

export const newAuthorization = (
  auth_type: string,
  rest: Partial<Authorization> = {},
): Authorization => ({
  auth_type,
  domain: "a.example",
  settings: {},
  keys: { client_id: "id", client_secret: "secret" },
  token: null,
  ...rest,
});

export const newToken = (
  rest: Partial<NonNullable<Authorization["token"]>> = {},
): Authorization["token"] => ({
  name: "A token",
  expires_at: null,
  access_token: "token",
  ...rest,
});

export const MOMENT = { now: 1_440_938_160_000, nonce: "nonce" };

/** Returns what a machine's wrong clock and its agent, which has asked the hub, show at `now`. */
export function readClocks(now: number, wrongBy: number) {
  const machine = createManualClock(now + wrongBy);
  const clock = createHubClock(machine);
  for (let answers = 0; answers < 3; answers += 1)
    clock.learn({ sent: 0, received: 0, hubTime: now });
  return { machine: machine.now(), agent: clock.now() };
}

/** Returns the last header of that name, or the reason for its absence. */
export function sent(authorized: BuiltRequest, name = "Authorization"): string {
  if ("reason" in authorized) return authorized.reason;
  const { headers } = authorized.request;
  return headers.findLast(({ key }) => key === name)?.value ?? "";
}
