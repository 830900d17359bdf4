// Stores many results as the aggregator records them: in batches, each result from a pending run.
import { aReport, aRun } from "../../test/support/runs.ts";
import type { PendingRun } from "../../src/store/records.ts";
import type { RunReport } from "../../src/model/result.ts";
import { MINUTE_MS } from "../../src/model/slots.ts";
import type { Store } from "../../src/store/store.ts";

export const BATCH = 1000;

/** 2026-10-01. */
const FIRST_DUE = Date.UTC(2026, 9, 1);

/** Builds the report that a small JSON answer leaves behind, with its request, headers and body. */
export function reportOf(run: PendingRun, n: number): RunReport {
  const report = aReport(run, { total: 20 + ((n * 7919) % 1000) / 10 });
  const url = `https://target.test/${run.target_id}`;
  return {
    ...report,
    results: report.results.map((result) => ({
      ...result,
      request: {
        url,
        method: "GET",
        headers: [
          { key: "user-agent", value: "Sonde" },
          { key: "accept", value: "*/*" },
          { key: "host", value: "target.test" },
        ],
        body: null,
      },
      response: {
        status_code: 200,
        status_string: "OK",
        headers: [
          { key: "Server", value: "nginx/1.22.1" },
          { key: "Content-Type", value: "application/json" },
          { key: "Content-Length", value: "120" },
          { key: "Date", value: result.meta.due_time },
        ],
      },
      content: {
        content_type: "application/json",
        encoding: null,
        size: 120,
        content: `{"n": ${n}, "text": "${"x".repeat(100)}"}`,
        reason: null,
      },
    })),
  };
}

/** Returns the `n`th batch: a run of each call every minute. */
export const runsOf = (callIds: readonly string[], n: number, firstDue: number): PendingRun[] =>
  Array.from({ length: BATCH }, (_, at) => {
    const index = n * BATCH + at;
    return aRun({
      target_id: callIds[index % callIds.length] ?? "",
      deployment_id: `deployment-${index % callIds.length}`,
      owner: "owner",
      due_time: firstDue + Math.floor(index / callIds.length) * MINUTE_MS,
    });
  });

/** Stores whole batches of at least `count` results in total; returns when the last one was due. */
export async function storeResults(
  store: Store,
  callIds: readonly string[],
  count: number,
): Promise<number> {
  let due = FIRST_DUE;
  for (let n = 0; n * BATCH < count; n += 1) {
    const runs = runsOf(callIds, n, FIRST_DUE);
    await store.pendingRuns.insert(runs);
    await store.results.record(runs.map((run, at) => reportOf(run, at)));
    due = runs.at(-1)?.due_time ?? due;
  }
  return due;
}
