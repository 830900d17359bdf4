// The figures in docs/insights.md are right.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { bandOf, HIGHEST_SCORE, partsOf } from "../../src/model/score.ts";
import type { LocationLatencies, Score } from "../../src/model/score.ts";
import { scoreOf } from "../support/score.ts";

/** The tables of the page, by the first cell of their headings; rows as cells. */
const tables = new Map(
  readFileSync("docs/insights.md", "utf8")
    .split(/\n\n+/)
    .filter((block) => block.startsWith("| "))
    .map((block) => {
      const [head = [], , ...rows] = block
        .trim()
        .split("\n")
        .map((line) =>
          line
            .split("|")
            .slice(1, -1)
            .map((cell) => cell.trim()),
        );
      return [head[0], rows] as const;
    }),
);

function rowsOf(title: string, least: number): (readonly string[])[] {
  const rows = tables.get(title) ?? [];
  if (rows.length < least) throw new Error(`no table of ${least} rows: ${title}`);
  return rows;
}

/** `near: 3 × 20, 40?; far: 900` */
const passedIn = (text: string): LocationLatencies[] =>
  text.split(";").map((part, n) => {
    const [, location_id = `${n}`, counts = ""] = /^(?:\s*(\w+):)?(.*)$/.exec(part) ?? [];
    const passed = counts.split(",").map((one) => {
      const [, times = "1", latency, mark] = /^\s*(?:(\d+) × )?(\d+)(\??)$/.exec(one) ?? [];
      if (latency === undefined) throw new Error(`not latencies: ${one}`);
      const count = Number(times);
      return { latency: Number(latency), count, uncertain: mark === "?" ? count : 0 };
    });
    return { location_id, passed };
  });

function scoreIn(text: string, failed = 0): Score {
  const [latencies = "", more = `${failed} failed`] = text.split(" with ");
  const passed = passedIn(latencies);
  const counts = passed.flatMap((each) => each.passed.map(({ count }) => count));
  return scoreOf(counts.reduce((a, b) => a + b) + Number.parseInt(more, 10), passed);
}

const percent = (value: number): string => `${Number(value.toFixed(3))} %`;

describe("docs/insights.md", () => {
  it.each(rowsOf("calls that passed, by location", 8))("computes %s, %s failed", (text, ...row) => {
    const [failed, ...rest] = row;
    const { pass_percent, outlier_percent, parts, score } = scoreIn(text, Number(failed));
    const { availability, outliers, consistency } = parts;
    expect(rest).toEqual([
      percent(pass_percent),
      percent(outlier_percent),
      ...[availability, outliers, consistency].map((part) => part.toFixed(4)),
      String(score),
    ]);
  });

  it.each(rowsOf("passed", 8))("weighs a pass share of %s as %s", (share, a, score) => {
    const { availability } = partsOf(Number.parseFloat(share) / 100, 0, 0);
    expect([a, score]).toEqual([
      availability.toFixed(4),
      String(Math.round(HIGHEST_SCORE * availability)),
    ]);
  });

  it.each(rowsOf("before", 3))("shows that %s has %s, and %s more: %s", (before, ...row) => {
    const [from, after = "", to] = row;
    expect([from, to]).toEqual([String(scoreIn(before).score), String(scoreIn(after).score)]);
    expect(Number(to)).toBeGreaterThan(Number(from));
  });

  it.each(rowsOf("score", 3))("calls %s %s", (scores, band) => {
    const bounds = scores.startsWith("below") ? [0, 599] : scores.split(" to ").map(Number);
    for (const score of bounds) expect(bandOf({ score, made: 24 })).toBe(band);
  });
});
