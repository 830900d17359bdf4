// What the page of a call that does not pass says first.
import { describe, expect, it } from "vitest";
import type { Ended } from "../../web/src/pages/call/trouble.ts";
import { begunAt, troubleOf, troubleText, troubleWhere } from "../../web/src/pages/call/trouble.ts";

const CATEGORIES = {
  COMPLETE: "PASS",
  HTTP_CLIENT_ERROR: "WARNING",
  HTTP_SERVER_ERROR: "FAIL",
  CONNECTION_ERROR: "FAIL",
  MISSED: null,
  QUEUED: null,
} as const;
const HTTP = { COMPLETE: 200, HTTP_CLIENT_ERROR: 404, HTTP_SERVER_ERROR: 500 } as const;

const MESSAGES: Readonly<Record<string, string>> = {
  timeout: "timeout: no response",
  offline: "no_agent: none is there",
};

/** Reads `fail@Rome`: newest first, one each minute up to 60. */
const results = (...each: string[]): Ended[] =>
  each.map((one, at) => {
    const [word, location_id = "Rome"] = one.split("@");
    const result = (
      {
        pass: "COMPLETE",
        warn: "HTTP_CLIENT_ERROR",
        fail: "HTTP_SERVER_ERROR",
        timeout: "CONNECTION_ERROR",
        missed: "MISSED",
        offline: "MISSED",
        queued: "QUEUED",
      } as const
    )[word as "pass"];
    return {
      result,
      result_category: CATEGORIES[result],
      http_code: result in HTTP ? HTTP[result as keyof typeof HTTP] : null,
      message: MESSAGES[word ?? ""] ?? null,
      location_id,
      start_time: null,
      due_time: new Date((60 - at) * 60_000).toISOString(),
    };
  });

const words = {
  nameOf: (location: string) => location,
  timeText: (ms: number) => `minute ${ms / 60_000}`,
};

const said = (each: readonly string[], day: [made: number, passed: number], isWhole = true) => {
  const trouble = troubleOf(results(...each), isWhole, []);
  return trouble && troubleText(trouble, { made: day[0], passed: day[1] }, words);
};

describe("the first statement about a call", () => {
  it.each<[string[], [number, number], string | undefined]>([
    [["pass", "fail"], [2, 1], undefined],
    [["queued", "pass"], [1, 1], undefined],
    [[], [0, 0], undefined],
    [
      ["fail", "fail", "fail"],
      [3, 0],
      "All 3 calls in the last 24 hours failed since minute 58, last with HTTP_SERVER_ERROR (500).",
    ],
    [
      ["fail", "fail", "pass"],
      [3, 1],
      "The last 2 calls failed since minute 59, last with HTTP_SERVER_ERROR (500).",
    ],
    [
      ["timeout", "timeout"],
      [2, 0],
      "All 2 calls in the last 24 hours failed since minute 59, last with CONNECTION_ERROR (timeout: no response).",
    ],
    [["offline"], [0, 0], "The last run was missed at minute 60 (no_agent: none is there)."],
    [["fail", "pass"], [2, 1], "The last call failed at minute 60 with HTTP_SERVER_ERROR (500)."],
    [
      ["queued", "warn", "pass"],
      [2, 1],
      "The last call did not pass at minute 59 with HTTP_CLIENT_ERROR (404).",
    ],
    [
      ["missed@Oslo", "pass", "missed@Oslo", "pass"],
      [2, 2],
      "The last 2 runs at Oslo were missed since minute 58.",
    ],
    [
      ["missed@Oslo", "fail", "pass"],
      [2, 1],
      "The last call at Rome failed at minute 59 with HTTP_SERVER_ERROR (500).",
    ],
    [["missed", "missed", "fail", "pass"], [2, 1], "The last 2 runs were missed since minute 59."],
    [
      ["fail", "missed", "missed", "fail", "pass"],
      [3, 1],
      "The last 2 calls failed since minute 57, last with HTTP_SERVER_ERROR (500).",
    ],
    [
      ["fail", "warn", "pass"],
      [3, 1],
      "The last 2 calls did not pass since minute 59, last with HTTP_SERVER_ERROR (500).",
    ],
  ])("of %j, %j made and passed: %s", (each, day, text) => {
    expect(said(each, day)).toBe(text);
  });

  it("has no start where the results that are known do not reach back to it", () => {
    expect(said(["fail", "fail"], [80, 0], false)).toBe(
      "All 80 calls in the last 24 hours failed, last with HTTP_SERVER_ERROR (500).",
    );
  });

  it.each([
    [
      ["fail", "fail", "pass@Oslo"],
      "All calls at Rome failed since minute 7, last with HTTP_SERVER_ERROR (500).",
    ],
    [["missed", "missed", "pass@Oslo"], "All runs at Rome were missed since minute 7."],
  ])("counts no runs where it began before the results that are known: %j", (each, text) => {
    const trouble = troubleOf(results(...each), false, ["Rome", "Oslo"]);
    const begun = trouble && begunAt(trouble, 7 * 60_000);
    expect(begun && troubleText(begun, { made: 80, passed: 20 }, words)).toBe(text);
  });

  it("ignores a location from which the call no longer runs", () => {
    const each = results("pass", "fail@Oslo");
    expect(troubleOf(each, true, ["Rome"])).toBeUndefined();
    expect(troubleOf(each, true, ["Rome", "Oslo"])?.locations).toEqual(["Oslo"]);
  });

  it.each([
    [["fail", "pass@Oslo"], "Only at Rome"],
    [["fail", "missed@Oslo"], "At Rome; missed at Oslo"],
    [["missed", "pass@Oslo"], "Only at Rome"],
    [["fail", "fail@Oslo"], "At all of Rome, Oslo"],
    [["fail@Rome, IT", "fail@Oslo"], "At all of Rome, IT; Oslo"],
    [["fail"], "Called from Rome only"],
  ])("names where: %j", (each, where) => {
    const trouble = troubleOf(results(...each), true, []);
    expect(trouble && troubleWhere(trouble, words.nameOf)).toBe(where);
  });
});
