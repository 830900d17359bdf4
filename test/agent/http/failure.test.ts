import { describe, expect, it } from "vitest";
import {
  connectFailure,
  dnsFailure,
  exchangeFailure,
  handshakeFailure,
} from "../../../src/agent/http/failure.ts";
import { LookupFailure } from "../../../src/net/resolve-host.ts";

const withCode = (code: string): Error => Object.assign(new Error(), { code });

describe("a shortage of the agent's machine", () => {
  it.each([["EMFILE"], ["ENFILE"], ["ENOMEM"], ["ENOBUFS"], ["EADDRNOTAVAIL"]])(
    "(%s) is never counted against the target",
    (code) => {
      for (const failure of [
        connectFailure(withCode(code), "192.0.2.1:80"),
        dnsFailure(new LookupFailure("dns_failure", "a.example", { cause: withCode(code) })),
        handshakeFailure(withCode(code)),
        exchangeFailure(withCode(code), false),
      ]) {
        expect(failure.result).toBe("AGENT_ERROR");
        expect(failure.message).toMatch(/^agent_error: the agent/);
      }
    },
  );
});

it("a lookup that others left no time is never counted against the target", () => {
  const failure = dnsFailure(new LookupFailure("dns_busy", "no time for a.example"));
  expect([failure.result, failure.message]).toEqual([
    "AGENT_ERROR",
    "agent_error: no time for a.example",
  ]);
});

describe("a failure to connect", () => {
  it.each([
    ["ECONNREFUSED", "192.0.2.1:80", "connect_refused"],
    ["ETIMEDOUT", "192.0.2.1:80", "connect_timeout"],
    ["EHOSTUNREACH", "192.0.2.1:80", "connect_unreachable"],
    ["ENETUNREACH", "192.0.2.1:80", "connect_unreachable"],
    ["EADDRNOTAVAIL", "[2001:db8::1]:80", "connect_unreachable"],
    ["ECONNRESET", "192.0.2.1:80", "reset"],
  ])("%s of %s is %s", (code, target, expected) => {
    const failure = connectFailure(withCode(code), target);
    expect(failure.code).toBe(expected);
    expect(failure.result).toBe("CONNECTION_ERROR");
  });
});
