// The outcome of a workflow's run, derived from those of its calls.
import { categoryOf } from "./result.ts";
import type { Result, ResultCode, WorkflowResult } from "./result.ts";

/** Whether a workflow that stops on failure stops after this call; only calls made can stop it. */
export function stopsWorkflow({ meta }: Result): boolean {
  const category = categoryOf(meta.result);
  return category === "WARNING" || category === "FAIL";
}

/** A workflow ends like its worst call, the first of equally bad ones. */
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

export interface QuotedCall {
  /** From 0. */
  readonly step: number;
  /** The outcome's message without that of the call. */
  readonly unquoted: string;
}

/** Returns the call whose own message ends this message of `outcomeOfWorkflow`, if any does. */
export function quotedCall(message: string | null): QuotedCall | undefined {
  const [unquoted, number] =
    /^call (\d+) of \d+ ended with [A-Z_]+(?=: )/.exec(message ?? "") ?? [];
  return unquoted === undefined ? undefined : { step: Number(number) - 1, unquoted };
}

const COUNTED_AS = { PASS: "passed", WARNING: "warnings", FAIL: "failed" } as const;

/** The count to which a call's result adds one. */
export function countedAs(result: ResultCode): Exclude<keyof WorkflowResult["counts"], "calls"> {
  const category = categoryOf(result);
  return category === null ? "not_made" : COUNTED_AS[category];
}

export function countsOfWorkflow(results: readonly Result[]): WorkflowResult["counts"] {
  const counts = { calls: results.length, passed: 0, warnings: 0, failed: 0, not_made: 0 };
  for (const { meta } of results) counts[countedAs(meta.result)] += 1;
  return counts;
}
