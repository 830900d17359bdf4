// The current state of a call, from the newest outcomes at its locations.
import { describe, expect, it } from "vitest";
import { stateNow } from "../../src/model/call-state.ts";
import type { CallState } from "../../src/model/call-state.ts";
import type { ResultCode } from "../../src/model/result.ts";

const RESULTS = {
  pass: "COMPLETE",
  redirect: "HTTP_REDIRECT_ERROR",
  warn: "HTTP_CLIENT_ERROR",
  fail: "HTTP_SERVER_ERROR",
  refused: "CONNECTION_ERROR",
  missed: "MISSED",
  skipped: "SKIPPED",
  unable: "UNABLE_TO_RUN",
  broken: "AGENT_ERROR",
} as const satisfies Record<string, ResultCode>;

/** `fail@Oslo`; `none@Oslo` has no outcome yet. */
const locations = (each: readonly string[]) =>
  each.map((one) => {
    const [word = "", location_id = ""] = one.split("@");
    const result = RESULTS[word as keyof typeof RESULTS] as ResultCode | undefined;
    return { location_id, last: result ? { result } : null };
  });

describe("the state of a call over its locations", () => {
  it.each<[string[], CallState, string[]]>([
    [["pass@Oslo", "pass@Rome"], "PASSING", ["Oslo", "Rome"]],
    [["pass@Oslo", "fail@Rome", "pass@Lima"], "FAILING", ["Rome"]],
    [["refused@Oslo", "fail@Rome"], "FAILING", ["Oslo", "Rome"]],
    [["missed@Oslo", "pass@Rome"], "MISSED", ["Oslo"]],
    [["missed@Oslo", "warn@Rome", "redirect@Lima"], "WARNING", ["Rome", "Lima"]],
    [["missed@Oslo", "warn@Rome", "fail@Lima"], "FAILING", ["Lima"]],
    [["missed@Oslo", "unable@Rome"], "MISSED", ["Oslo"]],
    [["unable@Oslo", "pass@Rome", "broken@Lima"], "NO_RESULT", ["Oslo", "Lima"]],
    [["skipped@Oslo"], "NO_RESULT", ["Oslo"]],
    [["none@Oslo", "pass@Rome"], "PASSING", ["Rome"]],
    [["none@Oslo", "fail@Rome"], "FAILING", ["Rome"]],
    [["none@Oslo", "none@Rome"], "NO_RESULT", []],
    [[], "NO_RESULT", []],
  ])("of %j is %s at %j", (each, state, at) => {
    expect(stateNow(locations(each))).toEqual({ state, at });
  });
});
