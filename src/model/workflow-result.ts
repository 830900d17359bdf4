// What a workflow's run comes to: its outcome from those of its calls, and the longest it may take.
import { categoryOf } from "./result.ts";
import type { Result, ResultCode, WorkflowResult } from "./result.ts";

/** The longest that one call may take: the highest value of the tag `timeout:`. */
export const LONGEST_CALL_MS = 120_000;

/** For all calls of a workflow together, beside the delays between them. */
export const LONGEST_CALLS_MS = 15 * 60_000;

/**
 * What a call may need beside its own time: to be built, and for a look at the agent's own network
 * after it failed.
 */
const BESIDE_CALL_MS = 3000;

/**
 * What the calls of a workflow have together, in milliseconds: each its own, one after the other,
 * but at most `mostMs`.
 */
export function timeOfCalls(timeouts: readonly number[], mostMs = LONGEST_CALLS_MS): number {
  const calls = timeouts.reduce((sum, ms) => sum + ms + BESIDE_CALL_MS, 0);
  return Math.min(calls, mostMs);
}

/**
 * The time that a workflow's run has, in milliseconds: that of its calls, and all of the delays (in
 * seconds) between them.
 */
export const workflowLimitMs = (timeouts: readonly number[], betweenCallsDelay: number): number =>
  timeOfCalls(timeouts) + Math.max(0, timeouts.length - 1) * betweenCallsDelay * 1000;

/**
 * Whether the calls after this one are not made where a workflow stops on failure: calls that were
 * not made do not count.
 */
export function stopsWorkflow({ meta }: Result): boolean {
  const category = categoryOf(meta.result);
  return category === "WARNING" || category === "FAIL";
}

/** A workflow ends as the worst of its calls did; of equally bad ones, the first. */
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
    const told = message === null ? "" : `: ${message}`;
    return {
      result,
      result_category,
      message: `call ${at + 1} of ${results.length} ended with ${result}${told}`,
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
