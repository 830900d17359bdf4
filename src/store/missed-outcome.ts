// The outcome of a run that no agent carried out.
import { categoryOf, NO_TIMING } from "../model/result.ts";
import type { Result, WorkflowResult } from "../model/result.ts";
import { formatInstant } from "../model/instant.ts";
import { countsOfWorkflow } from "../model/workflow-result.ts";
import type { MissedRun } from "./ports/result-store.ts";

const runMeta = ({ run, result, message }: MissedRun) => ({
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

export const missedResult = (missed: MissedRun): Result => ({
  id: missed.run.result_id,
  meta: {
    call_id: missed.run.target_id,
    workflow_id: null,
    workflow_result_id: null,
    ...runMeta(missed),
    domain: "",
    url: "",
    http_code: null,
    source_ip: null,
    dest_ip: null,
    request_size: null,
    response_size: null,
    redirects: 0,
    is_late: false,
  },
  timing: NO_TIMING,
  request: null,
  response: null,
  hops: [],
  certificate: null,
});

export const missedWorkflow = (missed: MissedRun): WorkflowResult => ({
  id: missed.run.result_id,
  meta: {
    workflow_id: missed.run.target_id,
    name: "",
    ...runMeta(missed),
    is_late: false,
  },
  counts: countsOfWorkflow([]),
});
