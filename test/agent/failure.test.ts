import { describe, expect, it } from "vitest";
import {
  connectFailure,
  dnsFailure,
  exchangeFailure,
} from "../../src/agent/failure.ts";

const withCode = (code: string): Error => Object.assign(new Error(), { code });

describe("what the agent's machine lacks", () => {
  it.each([["EMFILE"], ["ENFILE"], ["ENOMEM"], ["ENOBUFS"], ["EADDRNOTAVAIL"]])(
    "(%s) is never counted against the target",
    (code) => {
      for (const failure of [
        connectFailure(withCode(code), "192.0.2.1:80"),
        dnsFailure(withCode(code), "a.example"),
        exchangeFailure(withCode(code), false),
      ]) {
        expect(failure.result).toBe("AGENT_ERROR");
        expect(failure.message).toMatch(/^agent_error: the agent/);
      }
    },
  );
});

describe("a failure to connect", () => {
  it.each([
    ["ECONNREFUSED", "connect_refused"],
    ["ETIMEDOUT", "connect_timeout"],
    ["EHOSTUNREACH", "connect_unreachable"],
    ["ENETUNREACH", "connect_unreachable"],
    ["ECONNRESET", "reset"],
  ])("%s is %s", (code, expected) => {
    const failure = connectFailure(withCode(code), "192.0.2.1:80");
    expect(failure.code).toBe(expected);
    expect(failure.result).toBe("CONNECTION_ERROR");
  });
});
