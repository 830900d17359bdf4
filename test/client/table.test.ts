// How text from elsewhere is shown: harmless, aligned, and cut to the terminal's width.
import { describe, expect, it } from "vitest";
import { percentColumn } from "../../src/client/columns.ts";
import { describe as fieldsOf } from "../../src/client/fields.ts";
import { tableOf } from "../../src/client/table.ts";
import type { Screen } from "../../src/client/table.ts";
import { cut, harmless, harmlessJson, widthOf } from "../../src/client/text.ts";
import { waterfallOf } from "../../src/client/waterfall.ts";
import { NO_TIMING } from "../../src/model/timing.ts";

const FILE: Screen = { width: undefined, paint: (_color, text) => text };
const HOSTILE = "a\u001B[31mb\u009B2Jc\u202Ed\u0007e\nf\u2028g\uD800";

describe("text from elsewhere", () => {
  it("has its terminal control characters escaped", () => {
    expect(harmless(HOSTILE)).toBe(
      String.raw`a\u{1b}[31mb\u{9b}2Jc\u{202e}d\u{7}e\nf\u{2028}g\u{d800}`,
    );
    expect(harmless("naïve 日本 👩‍🔬")).toBe("naïve 日本 👩‍🔬");
  });

  it("is harmless as the name of a field, too, and the values stay aligned", () => {
    expect(fieldsOf({ id: "x", settings: { "a\u001B]0;b\u0007": { "c\u202E": HOSTILE } } })).toBe(
      `${"id".padEnd(35)}  x\n${String.raw`settings.a\u{1b}]0;b\u{7}.c\u{202e}`}  ${harmless(HOSTILE)}\n`,
    );
  });

  it("keeps its value in JSON, but escaped", () => {
    const text = harmlessJson({ name: HOSTILE }, 2);
    expect(JSON.parse(text)).toEqual({ name: HOSTILE });
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}]/u);
  });

  it.each([
    ["plain", 5],
    ["日本語", 6],
    ["ｶﾅ", 2],
    ["한국", 4],
    ["e\u0301", 1],
    ["👩‍🔬", 2],
    ["", 0],
  ])("takes columns: %s %i", (text, columns) => {
    expect(widthOf(text)).toBe(columns);
  });

  it("is cut between characters", () => {
    expect(cut("日本語", 6)).toBe("日本語");
    expect(cut("日本語", 5)).toBe("日本…");
    expect(cut("日本語", 4)).toBe("日…");
  });
});

describe("a table", () => {
  const columns = [
    { heading: "NAME", cell: (row: readonly string[]) => row[0], shrinks: true },
    { heading: "URL", cell: (row: readonly string[]) => row[1], shrinks: true },
    { heading: "MS", cell: (row: readonly string[]) => row[2], align: "right" },
  ] as const;
  const rows = [
    ["日本語", "https://a.example/".padEnd(60, "x"), "1"],
    ["\u001B[2J", "-", "1000"],
  ];

  it("keeps its columns in line and everything in a file", () => {
    const lines = tableOf(columns, rows, FILE).trimEnd().split("\n");
    expect(lines).toHaveLength(3);
    expect(new Set(lines.map(widthOf)).size).toBe(1);
    expect(lines[1]).toContain("x".repeat(42));
  });

  it("fits a terminal by cutting its widest column", () => {
    const lines = tableOf(columns, rows, { ...FILE, width: 40 })
      .trimEnd()
      .split("\n");
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(40);
    expect(lines[1]).toMatch(/^日本語 .*…\s+1$/);
  });

  it("colours a cell without changing its text", () => {
    const painted = [{ heading: "R", cell: () => "FAIL", color: () => "red" as const }];
    const paint: Screen["paint"] = (color, text) => `<${color}>${text}</>`;
    expect(tableOf(painted, [1], { width: 80, paint })).toBe("R\n<red>FAIL</>\n");
  });
});

describe("a waterfall", () => {
  const timing = {
    ...NO_TIMING,
    tcp: 10,
    handshake: 30,
    processing: 60,
    total: 101,
    uncertainty: 1,
  };
  const meta = { http_code: 200, url: "https://shop.example/" };

  it("draws bars in proportion, end to end", () => {
    const lines = waterfallOf({ hops: [], timing, meta }, FILE).split("\n");
    const bars = lines.map((line) => [line.indexOf("█"), line.split("█").length - 1]);
    const at = bars[1]?.[0] ?? 0;
    expect(bars.slice(0, 7)).toEqual([
      [-1, 0],
      [at, 4],
      [at + 4, 12],
      [-1, 0],
      [at + 16, 24],
      [-1, 0],
      [-1, 0],
    ]);
    expect(lines[0]).toMatch(/^ {2}DNS +-$/);
    expect(lines[6]).toMatch(/^ {2}total +101\.0 ms {2}up to 1\.000 ms of it /);
  });

  it("continues over redirects", () => {
    const hop = { url: "http://shop.example/\u001B[2J", http_code: 301, dest_ip: null, timing };
    const request = { url: "https://shop.example/new" };
    const text = waterfallOf({ hops: [hop], timing, meta, request }, { ...FILE, width: 60 });
    const [first, second] = text.split("\n").filter((line) => line.includes("processing"));
    expect(text).toMatch(
      /^301 http:\/\/shop\.example\/\\u\{1b\}\[2J\n[^]*\n200 https:\/\/shop\.example\/new\n/,
    );
    expect(waterfallOf({ hops: [hop], timing, meta }, FILE)).toContain("\n200\n");
    expect(second?.indexOf("█")).toBeGreaterThan(first?.lastIndexOf("█") ?? 0);
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(60);
  });
});

it.each([
  [100, "100.00"],
  [(100 * 49_999) / 50_000, "99.99"],
  [64.1, "64.10"],
  [0, "0.00"],
  [null, null],
])("%s percent is the cell %s: a failure never shows as 100", (pass_percent, cell) => {
  expect(percentColumn("PASSED %", "pass_percent").cell({ pass_percent })).toBe(cell);
});
