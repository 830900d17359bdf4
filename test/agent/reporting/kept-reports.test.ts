import { describe, expect, it } from "vitest";
import { createKeptReports } from "../../../src/agent/reporting/kept-reports.ts";
import type { RunReport } from "../../../src/model/result.ts";
import { createManualClock } from "../../support/manual-clock.ts";
import { aReport, aRun, T0 } from "../../support/runs.ts";

describe("kept reports", () => {
  const MINUTE_MS = 60_000;

  function newKept() {
    const clock = createManualClock(T0);
    return { clock, kept: createKeptReports(clock) };
  }

  /** Returns a report of slightly more than `characters`. */
  function large(characters: number): RunReport {
    const report = aReport(aRun());
    for (const { meta } of report.results) meta.message = "x".repeat(characters);
    return report;
  }

  it("hold an unpublished report, and only the id of a published one", () => {
    const { kept } = newKept();
    const report = aReport(aRun());
    kept.keep(report);
    expect(kept.find(report.run_id)).toEqual(report);
    kept.published(report.run_id);
    expect(kept.find(report.run_id)).toBe("published");
  });

  it("expire after two minutes", async () => {
    const { clock, kept } = newKept();
    const report = aReport(aRun());
    kept.keep(report);
    kept.published("another");
    await clock.advance(2 * MINUTE_MS - 1);
    expect(kept.find(report.run_id)).toEqual(report);
    expect(kept.find("another")).toBe("published");
    await clock.advance(1);
    expect(kept.find(report.run_id)).toBeUndefined();
    expect(kept.find("another")).toBeUndefined();
  });

  it("stay within their bound by dropping the oldest", () => {
    const { kept } = newKept();
    const reports = Array.from({ length: 200 }, () => large(700_000));
    for (const report of reports) kept.keep(report);
    const held = reports.filter(({ run_id }) => kept.find(run_id));
    expect(held).toEqual(reports.slice(-held.length));
    expect(held.length).toBeGreaterThan(80);
    expect(held.length).toBeLessThan(100);
  });

  it("hold the ids of all runs published in two minutes", () => {
    const { kept } = newKept();
    const ids = Array.from({ length: 50_000 }, (_, n) => `run-${n}`);
    for (const id of ids) kept.published(id);
    expect(ids.filter((id) => kept.find(id) !== "published")).toEqual([]);
  });
});
