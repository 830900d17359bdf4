// How the pages word a call's state over its locations, and what an event changes in it.
import { describe, expect, it } from "vitest";
import { stateNow } from "../../src/model/call-state.ts";
import { categoryOf } from "../../src/model/result.ts";
import type { ResultCode } from "../../src/model/result.ts";
import { isCounted, withOutcome } from "../../web/src/call-overview.ts";
import type { CallOverview } from "../../web/src/call-overview.ts";
import { placesText, whereText } from "../../web/src/call-state.ts";
import { select, selectionOf } from "../../web/src/pages/calls/selection.ts";

const RESULTS: Readonly<Record<string, ResultCode>> = {
  pass: "COMPLETE",
  warn: "HTTP_CLIENT_ERROR",
  fail: "HTTP_SERVER_ERROR",
  missed: "MISSED",
  unable: "UNABLE_TO_RUN",
};

const minute = (n: number): string => new Date(n * 60_000).toISOString();

/** `fail@Oslo` ended at minute 10, `fail@Oslo@12` at minute 12; `none@Oslo` has no outcome yet. */
function outcomeOf(text: string) {
  const [word = "", location_id = "", at = "10"] = text.split("@");
  const result = RESULTS[word];
  const last = result && {
    result_id: text,
    result,
    result_category: categoryOf(result),
    time: minute(Number(at)),
    latency: null,
  };
  return { location_id, last: last ?? null };
}

function eventOf(text: string) {
  const { location_id, last } = outcomeOf(text);
  if (!last) throw new Error(`no outcome: ${text}`);
  return { location_id, ...last };
}

function callOf(name: string, each: readonly string[], is_deployed = true): CallOverview {
  const locations = each.map(outcomeOf);
  return {
    id: name,
    name,
    tags: [],
    method: "GET",
    domain: "a.test",
    owner: "ann",
    locations: [],
    state: null,
    now: { ...stateNow(locations), is_deployed, locations },
    day: null,
  };
}

const nowOf = (each: readonly string[]) =>
  callOf("a", each).now as NonNullable<CallOverview["now"]>;

describe("the state of a call", () => {
  it.each<[string[], string]>([
    [["fail@Oslo"], ""],
    [["pass@Oslo", "pass@Rome"], ""],
    [["pass@Oslo", "none@Rome"], ""],
    [["none@Oslo", "none@Rome"], ""],
    [["fail@Oslo", "pass@Rome", "none@Lima"], "at 1 of 3 locations"],
    [["missed@Oslo", "missed@Rome", "pass@Lima"], "at 2 of 3 locations"],
    [["missed@Oslo", "fail@Rome"], "at 1 of 2 locations"],
    [["missed@Oslo", "missed@Rome"], "at both locations"],
    [["warn@Oslo", "warn@Rome", "warn@Lima"], "at all 3 locations"],
  ])("of %j says where: %s", (each, text) => {
    expect(whereText(nowOf(each))).toBe(text);
  });

  it("names the locations, the worst first", () => {
    const each = ["pass@Oslo", "none@Lima", "fail@Rome", "unable@Bern", "missed@Kyiv", "pass@Bonn"];
    expect(placesText(nowOf(each), (location) => location.toUpperCase())).toBe(
      "Failing at ROME. Missed at KYIV. Call not made at BERN. Passing at OSLO, BONN. No result yet at LIMA.",
    );
  });

  it.each<[string, string[], string, string, string[]]>([
    [
      "a pass where it failed",
      ["fail@Oslo", "pass@Rome"],
      "pass@Oslo@11",
      "PASSING",
      ["Oslo", "Rome"],
    ],
    ["a pass elsewhere", ["fail@Oslo", "pass@Rome"], "pass@Rome@11", "FAILING", ["Oslo"]],
    ["a fail at one", ["pass@Oslo", "pass@Rome"], "fail@Rome@11", "FAILING", ["Rome"]],
    ["an older result", ["fail@Oslo", "pass@Rome"], "pass@Oslo@9", "FAILING", ["Oslo"]],
    ["what replaces a run missed", ["missed@Oslo"], "pass@Oslo@10", "PASSING", ["Oslo"]],
    ["the first at a location", ["none@Oslo", "pass@Rome"], "fail@Oslo@9", "FAILING", ["Oslo"]],
    ["a location without deployment", ["pass@Oslo"], "fail@Rome@11", "PASSING", ["Oslo"]],
  ])("follows %s", (_what, each, event, state, at) => {
    const found = withOutcome(callOf("a", each), eventOf(event));
    expect(found.now).toMatchObject({ state, at });
  });

  it.each<[string, string, string[]]>([
    ["fail@Rome@11", "FAILING", ["Rome"]],
    ["fail@Rome@9", "PASSING", ["Oslo"]],
  ])("of a call that is not deployed is that of the newest result: %s", (event, state, at) => {
    const call = callOf("a", ["pass@Oslo"], false);
    expect(withOutcome(call, eventOf(event)).now).toMatchObject({ state, at });
  });
});

describe("the numbers of a call's day", () => {
  it.each([
    ["pass", true],
    ["fail", true],
    ["missed", true],
    ["unable", false],
  ])("count a run with this outcome: %s, %s", (word, is) => {
    expect(isCounted(eventOf(`${word}@Oslo`))).toBe(is);
  });
});

describe("the list of calls", () => {
  const calls = [
    callOf("passes", ["pass@Oslo", "pass@Rome"]),
    callOf("fails at one", ["fail@Oslo", "pass@Rome", "missed@Lima"]),
    callOf("missed at one", ["missed@Oslo", "pass@Rome"]),
    callOf("idle", []),
    callOf("not made at one", ["unable@Oslo", "pass@Rome"]),
    callOf("not made", ["unable@Oslo", "unable@Rome"]),
    callOf("fails", ["fail@Oslo", "fail@Rome"]),
  ];
  const names = (search: string) =>
    select(calls, selectionOf(Object.fromEntries(new URLSearchParams(search)))).map(
      ({ name }) => name,
    );

  it("begins with failing calls, those that fail everywhere first", () => {
    expect(names("")).toEqual([
      "fails",
      "fails at one",
      "missed at one",
      "not made",
      "not made at one",
      "passes",
      "idle",
    ]);
  });

  it("is in the order of its names if no column has the address's name", () => {
    expect(names("?sort=__proto__")).toEqual(names("?sort=nothing"));
    expect(names("?sort=toString")).toEqual(names("?sort=nothing"));
  });

  it("filters by the state that it shows", () => {
    expect(names("?state=fail")).toEqual(["fails", "fails at one"]);
    expect(names("?state=missed")).toEqual(["missed at one"]);
    expect(names("?state=pass")).toEqual(["passes"]);
    expect(names("?state=none")).toEqual(["not made", "not made at one", "idle"]);
  });
});
