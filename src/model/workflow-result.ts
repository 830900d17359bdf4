// The outcome of a workflow's run, from those of its calls, and the longest time it may take.
import { categoryOf } from "./result.ts";
import type { Result, ResultCode, WorkflowResult } from "./result.ts";

/** The time limit of one call: the maximum of the tag `timeout:`. */
export const LONGEST_CALL_MS = 120_000;

/** The time limit of all calls of a workflow together, without the delays between them. */
export const LONGEST_CALLS_MS = 15 * 60_000;

/** Allowance per call, to build it and to check the agent's own network after a failure. */
const CALL_ALLOWANCE_MS = 3000;

/** The time of all calls of a workflow, in milliseconds: the sum of theirs, at most `limitMs`. */
export function timeOfCalls(timeouts: readonly number[], limitMs = LONGEST_CALLS_MS): number {
  const calls = timeouts.reduce((sum, ms) => sum + ms + CALL_ALLOWANCE_MS, 0);
  return Math.min(calls, limitMs);
}

/** The time limit of a workflow's run, in milliseconds; `betweenCallsDelay` is in seconds. */
export const workflowLimitMs = (timeouts: readonly number[], betweenCallsDelay: number): number =>
  timeOfCalls(timeouts) + Math.max(0, timeouts.length - 1) * betweenCallsDelay * 1000;

/** Whether a workflow that stops on failure stops after this call, which must have been made. */
export function stopsWorkflow({ meta }: Result): boolean {
  const category = categoryOf(meta.result);
  return category === "WARNING" || category === "FAIL";
}

/** A workflow ends as its worst call; of equally bad calls, as the first. */
const WORST_FIRST: readonly ResultCode[][] = [
  ["HTTP_SERVER_ERROR", "CONNECTION_ERROR"],
  ["HTTP_REDIRECT_ERROR", "HTTP_CLIENT_ERROR"],
  ["AGENT_ERROR"],
  ["UNABLE_TO_RUN"],
  ["MISSED"],
  ["SKIPPED"],
];

export function outcomeOfWorkflow(
  results: readonly Result[],
): Pick<WorkflowResult["meta"], "result" | "result_category" | "message"> {
  for (const codes of WORST_FIRST) {
    const at = results.findIndex(({ meta }) => codes.includes(meta.result));
    const meta = results[at]?.meta;
    if (!meta) continue;
    const { result, result_category, message } = meta;
    const reason = message === null ? "" : `: ${message}`;
    return {
      result,
      result_category,
      message: `call ${at + 1} of ${results.length} ended with ${result}${reason}`,
    };
  }
  return { result: "COMPLETE", result_category: "PASS", message: null };
}

export function countsOfWorkflow(results: readonly Result[]): WorkflowResult["counts"] {
  const counts = { passed: 0, warnings: 0, failed: 0, not_made: 0 };
  for (const { meta } of results) {
    const category = categoryOf(meta.result);
    if (category === "PASS") counts.passed += 1;
    else if (category === "WARNING") counts.warnings += 1;
    else if (category === "FAIL") counts.failed += 1;
    else counts.not_made += 1;
  }
  return { calls: results.length, ...counts };
}
