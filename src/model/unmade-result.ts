// The result of a run that no agent has carried out: it is still ordered, or was missed.
import { maskUrl } from "./credential-names.ts";
import { formatInstant } from "./instant.ts";
import { categoryOf, NO_TIMING } from "./result.ts";
import type { Result, ResultCode, WorkflowResult } from "./result.ts";
import type { Trigger } from "./tick.ts";
import { countsOfWorkflow } from "./workflow-result.ts";

interface OrderedRun {
  readonly result_id: string;
  readonly deployment_id: string | null;
  readonly target_id: string;
  readonly location_id: string;
  readonly trigger: Trigger;
  readonly trigger_time: number;
  readonly due_time: number;
}

interface Standing {
  readonly result: ResultCode;
  readonly message: string | null;
}

export const QUEUED: Standing = { result: "QUEUED", message: null };

/** What is null or zero where no request was sent. */
export const NOTHING_SENT = {
  http_code: null,
  source_ip: null,
  dest_ip: null,
  request_size: null,
  response_size: null,
  redirects: 0,
  is_late: false,
} as const;

export const unmadeResult = (
  run: OrderedRun,
  standing: Standing,
  { domain, url }: { readonly domain: string; readonly url: string },
): Result => ({
  id: run.result_id,
  meta: {
    call_id: run.target_id,
    workflow_id: null,
    workflow_result_id: null,
    ...runMeta(run, standing),
    domain,
    url: maskUrl(url),
    ...NOTHING_SENT,
  },
  timing: NO_TIMING,
  request: null,
  response: null,
  hops: [],
  certificate: null,
});

export const unmadeWorkflowResult = (
  run: OrderedRun,
  standing: Standing,
  { name }: { readonly name: string },
): WorkflowResult => ({
  id: run.result_id,
  meta: {
    workflow_id: run.target_id,
    name,
    ...runMeta(run, standing),
    is_late: false,
  },
  counts: countsOfWorkflow([]),
});

const runMeta = (run: OrderedRun, { result, message }: Standing) => ({
  deployment_id: run.deployment_id,
  location_id: run.location_id,
  agent_id: null,
  trigger: run.trigger,
  trigger_time: formatInstant(run.trigger_time),
  due_time: formatInstant(run.due_time),
  start_time: null,
  end_time: null,
  result,
  result_category: categoryOf(result),
  message,
});
