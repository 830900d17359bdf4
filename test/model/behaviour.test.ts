import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { DEFAULT_BEHAVIOUR, EFFECTIVE_TAGS, readBehaviour } from "../../src/model/behaviour.ts";

describe("the tags of a call", () => {
  it.each([
    [[], {}],
    [["team:payments", "timeouts", "timeout", "max-redirects"], {}],
    [["timeout:5"], { timeoutMs: 5000 }],
    [["timeout:0.5"], { timeoutMs: 500 }],
    [["timeout:120"], { timeoutMs: 120_000 }],
    [["timeout:500"], { timeoutMs: 120_000 }],
    [["apimetrics:timeout:7"], { timeoutMs: 7000 }],
    [[" Timeout:7 "], { timeoutMs: 7000 }],
    [["timeout:5", "timeout:9"], { timeoutMs: 9000 }],
    [["noredirect"], { followRedirects: false }],
    [["apimetrics:noredirect"], { followRedirects: false }],
    [["insecure-tls"], { insecureTls: true }],
    [["max-redirects:0"], { maxRedirects: 0 }],
    [["max-redirects:3"], { maxRedirects: 3 }],
    [["max-redirects:999"], { maxRedirects: 50 }],
  ])("%j mean %j", (tags, expected) => {
    expect(readBehaviour(tags)).toEqual({ ...DEFAULT_BEHAVIOUR, ...expected });
  });

  it("are all in docs/agent.md", () => {
    const [, table = ""] = readFileSync("docs/agent.md", "utf8").split(/^\| tag .*\n/m);
    const names = [...table.split("\n\n", 1)[0]!.matchAll(/^\| `([a-z-]+)/gm)];
    expect(new Set(names.map(([, name]) => name))).toEqual(new Set(EFFECTIVE_TAGS));
  });

  it.each([
    ["timeout:", "seconds above 0 (at most 120)"],
    ["timeout:0", "seconds above 0 (at most 120)"],
    ["timeout:-1", "seconds above 0 (at most 120)"],
    ["timeout:soon", "seconds above 0 (at most 120)"],
    ["timeout:1e3", "seconds above 0 (at most 120)"],
    ["max-redirects:", "a whole number (at most 50)"],
    ["max-redirects:1.5", "a whole number (at most 50)"],
  ])("%s is a fault of the definition", (tag, reason) => {
    expect(readBehaviour([tag])).toMatch(`the tag '${tag}' needs`);
    expect(readBehaviour([tag])).toContain(reason);
  });
});
