// What the page of a result shows: its cURL command, its advice, its phases.
import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NO_TIMING } from "../../src/model/timing.ts";
import { curlOf, hasSecrets } from "../../web/src/pages/result/curl.ts";
import { adviceFor, OUTCOMES, REMEDIES } from "../../web/src/advice.ts";
import { daysText, prettyJson } from "../../web/src/pages/result/words.ts";
import { spansOf, ticksTo } from "../../web/src/parts/phases.ts";
import { doubtOf, startText, sureText } from "../../web/src/parts/sure-text.ts";
import { argumentsOf } from "../support/bash.ts";

describe("the cURL command of a request", () => {
  it("reaches a shell exactly as it was sent", () => {
    const body = `{"a": "it's $(rm -rf /) \`x\` \\"q\\"",\n"b": "!\\\\ üñ😀"}`;
    const url = "https://a.test/p?x=1&y='2'#$HOME";
    const header = { key: "X-Odd", value: "a'b; $PATH" };
    const command = curlOf({ url, method: "PATCH", headers: [header], body });
    expect(argumentsOf(command)).toEqual([
      url,
      "--request",
      "PATCH",
      "--header",
      "X-Odd: a'b; $PATH",
      "--header",
      "Content-Type:",
      "--data-raw",
      body,
    ]);
  });

  it("escapes characters that control a terminal or hide what a shell runs", () => {
    const body = "it's \\ a\u0003\u001b[201~\nrm -rf /\u0015\t\u009b\u202e\u{e0041}";
    const request = { url: "http://a.test/", method: "POST", headers: [], body };
    const command = curlOf(request);
    expect(command).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
    expect(argumentsOf(command).at(-1)).toBe(body);
  });

  it("asks for one URL, also with brackets and braces", () => {
    const url = "http://[::1]/?id[]=1&all={a,b}[1-9]";
    const command = curlOf({ url, method: "GET", headers: [], body: null });
    expect(argumentsOf(command)).toEqual(["--globoff", url]);
  });

  it("omits what cURL adds itself, and keeps a header without a value", () => {
    const headers = [
      { key: "Host", value: "a.test" },
      { key: "Content-Length", value: "" },
      { key: "Empty", value: "" },
    ];
    const command = curlOf({ url: "http://a.test/", method: "GET", headers, body: null });
    expect(argumentsOf(command)).toEqual(["http://a.test/", "--header", "Empty;"]);
  });

  it("keeps the name of another host, and the type of a body", () => {
    const headers = [
      { key: "host", value: "b.test" },
      { key: "content-type", value: "text/plain" },
    ];
    const command = curlOf({ url: "http://a.test/", method: "POST", headers, body: "x" });
    const kept = ["--header", "host: b.test", "--header", "content-type: text/plain"];
    expect(argumentsOf(command).slice(3)).toEqual([...kept, "--data-raw", "x"]);
  });

  it("asks for the head of a HEAD request", () => {
    // cURL sends no body with it.
    for (const body of [null, "x"]) {
      const command = curlOf({ url: "http://a.test/", method: "HEAD", headers: [], body });
      expect(argumentsOf(command)).toEqual(["--head", "http://a.test/"]);
    }
  });

  it("has a placeholder for each masked value", () => {
    const headers = [{ key: "Authorization", value: "Bearer ********" }];
    const command = curlOf({ url: "http://a.test/", method: "GET", headers, body: null });
    expect(argumentsOf(command)).toContain("Authorization: Bearer SECRET");
    expect(hasSecrets(command)).toBe(true);
  });
});

describe("advice", () => {
  it("knows every message that is documented, and no other", () => {
    const [, messages = ""] = readFileSync("docs/agent.md", "utf8").split("## Messages");
    const rows = messages.split("\n## ", 1)[0]?.matchAll(/^\| (`[^|]+) \|/gm) ?? [];
    const codes = [...rows].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, code = ""]) => code),
    );
    expect(codes.length).toBeGreaterThan(30);
    expect(new Set(Object.keys(REMEDIES)), "REMEDIES, and the messages of docs/agent.md").toEqual(
      new Set(codes),
    );
  });

  it.each([
    ["reset: the connection was closed", REMEDIES["reset"]],
    ["constructor: x", OUTCOMES.CONNECTION_ERROR.check],
    [null, OUTCOMES.CONNECTION_ERROR.check],
  ])("of %s", (message, advice) => {
    expect(adviceFor("CONNECTION_ERROR", message)).toBe(advice);
  });

  it("fits a 304, which has no Location to call", () => {
    const message = "redirect_not_followed: the server answered 304";
    expect(adviceFor("HTTP_REDIRECT_ERROR", message)).toContain("After a 304, remove the header");
  });
});

describe("a result in words", () => {
  it("shows the uncertainty of its time", () => {
    expect(sureText({ ...NO_TIMING, total: 31, uncertainty: 0.4 })).toBe(
      "at most 0.40 ms of 31 ms may be Sonde's own",
    );
    expect(sureText({ ...NO_TIMING, total: 31 })).toBeUndefined();
  });

  it("formats JSON only", () => {
    expect(prettyJson('{"a":1}')).toBe('{\n  "a": 1\n}');
    for (const text of ["<html>", "12", "", "null", '"text"'])
      expect(prettyJson(text)).toBeUndefined();
  });

  it("shows JSON as it was sent, also what a program would read otherwise", () => {
    const sent = `{"order_id":12345678901234567890,"price":1.10,"10":"ten","2":"two",
      "k":"first","k":"second","e":1e400,"s":"\\u00e9 {\\"a\\": [1,2]} ","none":[ ],"of":[{}, -0]}`;
    expect(prettyJson(sent)?.split("\n")).toEqual([
      "{",
      '  "order_id": 12345678901234567890,',
      '  "price": 1.10,',
      '  "10": "ten",',
      '  "2": "two",',
      '  "k": "first",',
      '  "k": "second",',
      '  "e": 1e400,',
      '  "s": "\\u00e9 {\\"a\\": [1,2]} ",',
      '  "none": [],',
      '  "of": [',
      "    {},",
      "    -0",
      "  ]",
      "}",
    ]);
  });

  it("indents any JSON as JSON.stringify does, whatever its white space", () => {
    const containers = fc.json().filter((text) => /^[{[]/.test(text));
    fc.assert(
      fc.property(containers, fc.constantFrom(0, 1, "\t"), (text, space) => {
        const value: unknown = JSON.parse(text);
        expect(prettyJson(JSON.stringify(value, null, space))).toBe(JSON.stringify(value, null, 2));
      }),
    );
  });

  it("does not indent JSON that is nested too deeply to be read", () => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    expect(prettyJson(nested(100))).toContain(`\n${" ".repeat(198)}[]\n`);
    expect(prettyJson(nested(16_000))).toBeUndefined();
  });

  it("lays phases end to end, and shows where a call ended", () => {
    const timing = { ...NO_TIMING, dns: 2, tcp: 10, total: 30_000 };
    expect(spansOf(timing).map(({ phase, from, ms }) => [phase, from, ms])).toEqual([
      ["dns", 0, 2],
      ["tcp", 2, 10],
      ["unfinished", 12, 29_988],
    ]);
    expect(spansOf(NO_TIMING)).toEqual([]);
  });

  it("has a bar for the time of a completed call outside its phases", () => {
    const phases = { dns: 1.58, tcp: 1.77, upload: 0.26, processing: 0.54, download: 0 };
    const spans = spansOf({ ...NO_TIMING, ...phases, total: 6.18 });
    expect(spans.at(-1)).toMatchObject({ phase: "between", name: "Between phases" });
    expect(spans.at(-1)?.ms).toBeCloseTo(2.03);
    const whole = { ...NO_TIMING, processing: 0.1, download: 0.2, total: 0.301 };
    expect(spansOf(whole).map(({ phase }) => phase)).toEqual(["processing", "download"]);
  });

  it.each([
    [837, [0, 200, 400, 600, 800]],
    [5, [0, 1, 2, 3, 4, 5]],
    [0.03, [0, 0.01, 0.02, 0.03]],
  ])("has round marks up to %d ms", (end, ticks) => {
    expect(ticksTo(end)).toEqual(ticks.map((tick) => expect.closeTo(tick, 9) as unknown));
  });
});

describe("the note on an uncertain or late time", () => {
  it.each([
    [815, 96.9, true],
    [1000, 96.9, false],
    [100, 10, false],
    [5.97, 5.97, true],
    [12, 6, true],
    [12, 5.9, false],
  ])("%d ms, of which %d may be Sonde's own, are too uncertain: %s", (total, uncertainty, is) => {
    expect(doubtOf({ ...NO_TIMING, total, uncertainty }) !== undefined).toBe(is);
  });

  it("distinguishes a scheduled run's place in its second from lateness", () => {
    const scheduled = { trigger: "SCHEDULE", is_late: false } as const;
    expect(startText(845, scheduled)).toMatch(/^It began 845 ms after it was due: .*not late\.$/);
    expect(startText(1500, scheduled)).toBe("It began 1.50 s after it was due.");
    expect(startText(9000, { ...scheduled, is_late: true })).toBe(
      "It began 9.00 s after it was due, late.",
    );
    expect(startText(12, { trigger: "MANUAL", is_late: false })).toBe(
      "It began 12 ms after it was due.",
    );
  });
});

it.each([
  [90, "90 days"],
  [1, "1 day"],
  [0, "0 days"],
  [-1, "Expired less than a day before"],
  [-2, "Expired 1 day before"],
  [-31, "Expired 30 days before"],
])("a certificate with %d days left, rounded down: %s", (days, text) => {
  expect(daysText(days)).toBe(text);
});
