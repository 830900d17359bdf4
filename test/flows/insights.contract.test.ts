// From recorded results to a score: what the API says, and what a separate program computes from
// the same results.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { engineOf } from "../aggregator/computing.ts";
import { createCall, startApi } from "../support/api.ts";
import type { Json, TestApi } from "../support/api.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { aReport, aRun } from "../support/runs.ts";
import type { Outcome } from "../support/runs.ts";
import { storeKinds } from "../support/stores.ts";

const HOUR = 3_600_000;
/** A Monday. */
const WEEK = Date.UTC(2026, 8, 21);
const DUE = WEEK + 7 * 24 * HOUR + 600_000;

async function record({ store }: TestApi, call: string, outcomes: readonly Outcome[]) {
  const runs = outcomes.map(({ start = WEEK, location_id = "local" }) =>
    aRun({ due_time: start, target_id: call, location_id }),
  );
  await store.pendingRuns.insert(runs);
  await store.results.record(runs.map((run, n) => aReport(run, outcomes[n])));
  return runs.map(({ result_id }) => result_id);
}

/**
 * Hourly at two locations; some fail, one is MISSED, and two are slow, one of them too uncertain
 * for an outlier.
 */
const OUTCOMES: readonly Outcome[] = Array.from({ length: 120 }, (_, n) => ({
  start: WEEK + n * HOUR,
  total: 80.4 + (n % 7),
  location_id: n % 3 === 0 ? "far" : "local",
  ...(n % 40 === 7 && { result: "HTTP_SERVER_ERROR" as const }),
  ...(n === 50 && { result: "MISSED" as const }),
  ...(n === 60 && { total: 900.5 }),
  ...(n === 61 && { total: 300, timing: { uncertainty: 200 } }),
}));

/** Runs the program from the page. */
async function scoreByProgram({ api, ann }: TestApi, call: string): Promise<unknown> {
  const [, program = ""] = /```js\n(.*?)```/s.exec(readFileSync("docs/insights.md", "utf8")) ?? [];
  const folder = mkdtempSync(join(tmpdir(), "sonde-score-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "score.mjs");
  writeFileSync(file, program);
  await api.start();
  const range = [WEEK, WEEK + 7 * 24 * HOUR].map((ms) => new Date(ms).toISOString());
  const args = [file, String(api.address()), call, ...range];
  const env = { PATH: process.env["PATH"], SONDE_KEY: ann.key };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  return JSON.parse(stdout);
}

describe.each(storeKinds)("insights in %s", (storeKind) => {
  it("are the same in every list, and recomputed from the results", async () => {
    const clock = createManualClock(WEEK);
    await using api = await startApi({ clock, storeKind });
    const { id: call } = await createCall(api);
    await record(api, call, [{ start: WEEK - HOUR }]);
    const ids = await record(api, call, OUTCOMES);
    await clock.advance(DUE - WEEK);
    await engineOf(api.store, clock).run();

    const get = async (path: string): Promise<Json> => (await api.send({ path })).body;
    const entry = await get(`/insights/call/${call}/?weekly=1`);
    const { score, pass_percent, outlier_percent, mean_test_length, sd_test_length } = entry;
    expect(entry).toMatchObject({ rank: 1, report_type: 1, pass_percent: (100 * 116) / 119 });
    const { results } = await get(`/insights/?weekly=1&call_id=${call}`);
    // On PostgreSQL, two reports are computed at a time: either may come first.
    const listed = (results as unknown as Json[]).toSorted(
      (a, b) => Number(a["rank"]) - Number(b["rank"]),
    );
    expect(listed).toEqual([expect.objectContaining({ rank: -1, score: 0 }), entry]);
    const [ranked] = (await get("/insights/rank/?weekly=1"))["results"] as unknown as Json[];
    const measures = { score, pass_percent, outlier_percent, mean_test_length, sd_test_length };
    expect(ranked).toMatchObject({ ...measures, insights_id: entry["id"] });
    const full = await get(`/insights/${call}__2026-09-21__2026-09-28/`);
    expect(full).toMatchObject({
      ...entry,
      band: "fair",
      missed: 1,
      failures: [
        { result: "HTTP_SERVER_ERROR", count: 3 },
        { result: "MISSED", count: 1 },
      ],
      outliers: [{ result_id: ids[60], location_id: "far", latency: 901 }],
      locations: [
        { location_id: "far", made: 40 },
        { location_id: "local", made: 79, outliers: 0 },
      ],
      change: { score: null, pass_percent: Number(pass_percent) - 100 },
    });
    const found = (await scoreByProgram(api, call)) as Record<string, number>;
    expect(found["score"]).toBe(score);
    for (const [name, value] of Object.entries(measures))
      expect(found[name]).toBeCloseTo(Number(value), 9);
  });
});
