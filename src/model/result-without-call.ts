// Results of runs without a request: queued, missed, skipped, or unable to run.
import { maskUrl } from "./mask.ts";
import { formatInstant } from "./instant.ts";
import { categoryOf } from "./result.ts";
import type { Result, ResultCode, WorkflowResult } from "./result.ts";
import { NO_TIMING } from "./timing.ts";
import type { Trigger } from "./tick.ts";
import { countsOfWorkflow } from "./workflow-result.ts";

/** A pending run or a tick. */
interface Run {
  readonly result_id: string;
  readonly deployment_id: string | null;
  readonly location_id: string;
  readonly trigger: Trigger;
  readonly trigger_time: number;
  readonly due_time: number;
  /** Set in the tick of a workflow. */
  readonly workflow?: { readonly workflow_id: string } | null | undefined;
}

interface Call {
  readonly result_id: string;
  readonly call_id: string;
  readonly domain: string;
  /** Null if the call was deleted. */
  readonly request: { readonly method: string; readonly url: string } | null;
}

interface Outcome {
  readonly result: ResultCode;
  readonly message: string | null;
}

export const QUEUED: Outcome = { result: "QUEUED", message: null };

/**
 * Returns the result of a call that was not made. Its URL and method are those of the definition:
 * variables are not filled in, credentials are masked. `agentId` is null if no agent took the run.
 */
export const resultWithoutCall = (
  run: Run,
  call: Call,
  outcome: Outcome,
  agentId: string | null = null,
): Result => {
  const url = maskUrl(call.request?.url ?? "");
  return {
    id: call.result_id,
    meta: {
      call_id: call.call_id,
      workflow_id: run.workflow?.workflow_id ?? null,
      workflow_result_id: run.workflow ? run.result_id : null,
      ...metaWithoutCall(run, outcome, agentId),
      domain: call.domain,
      url,
      http_code: null,
      source_ip: null,
      dest_ip: null,
      request_size: null,
      response_size: null,
      redirects: 0,
    },
    timing: NO_TIMING,
    request: call.request && { url, method: call.request.method, headers: [], body: null },
    response: null,
    hops: [],
    certificate: null,
  };
};

/** Returns the result of a workflow's run that made no call. */
export const workflowResultWithoutCalls = (
  run: Run,
  { workflow_id, name }: { readonly workflow_id: string; readonly name: string },
  outcome: Outcome,
  agentId: string | null = null,
): WorkflowResult => ({
  id: run.result_id,
  meta: { workflow_id, name, ...metaWithoutCall(run, outcome, agentId) },
  counts: countsOfWorkflow([]),
});

const metaWithoutCall = (run: Run, { result, message }: Outcome, agentId: string | null) => ({
  deployment_id: run.deployment_id,
  location_id: run.location_id,
  agent_id: agentId,
  trigger: run.trigger,
  trigger_time: formatInstant(run.trigger_time),
  due_time: formatInstant(run.due_time),
  start_time: null,
  end_time: null,
  result,
  result_category: categoryOf(result),
  message,
  is_late: false,
});
