// From a pending run and its target to the self-contained order that an agent carries out.
import type { Call } from "../model/call.ts";
import type { Tick, TickCall } from "../model/tick.ts";
import { stepIds } from "../runtime/ids.ts";
import type { PendingRun, StoredDocument } from "../store/records.ts";
import { callIdsOf } from "./targets.ts";
import type { StoredWorkflow, Targets } from "./targets.ts";

/** The tick, or why there is nothing to run. */
export function buildTick(run: PendingRun, targets: Targets): Tick | string {
  if (run.target_kind === "workflow") {
    const workflow = targets.workflows.get(run.target_id);
    return workflow ? workflowTick(run, workflow) : "the workflow was deleted before its run";
  }
  const call = targets.calls.get(run.target_id);
  return call
    ? { ...runOf(run), calls: [tickCall(run.result_id, call)] }
    : "the call was deleted before its run";
}

/** A run that has its plan keeps it: published again, it is the same tick. */
function workflowTick(run: PendingRun, { id, document, call }: StoredWorkflow): Tick | string {
  const callIds = run.call_ids ?? callIdsOf(document);
  if (callIds.length === 0) return "the workflow has no calls";
  const ids = stepIds(run.due_time, run.result_id, callIds.length);
  const { stop_on_failure, handle_cookies } = document.workflow;
  return {
    ...runOf(run),
    calls: callIds.map((callId, step) => {
      const [resultId, stored] = [ids[step] as string, call(callId)];
      return stored ? tickCall(resultId, stored) : missingCall(resultId, callId);
    }),
    workflow: {
      workflow_id: id,
      name: document.meta.name,
      stop_on_failure,
      handle_cookies,
      between_calls_delay: run.between_calls_delay,
    },
  };
}

const runOf = (run: PendingRun): Omit<Tick, "calls"> => ({
  result_id: run.result_id,
  trigger: run.trigger,
  trigger_time: run.trigger_time,
  due_time: run.due_time,
  latest_start: run.latest_start,
  deployment_id: run.deployment_id,
  location_id: run.location_id,
  context: { ...run.context },
});

function tickCall(result_id: string, target: StoredDocument): TickCall {
  const { meta, request } = target.document as Call;
  const { method, url, parameters, headers, body } = request;
  return {
    result_id,
    call_id: target.id,
    name: meta.name,
    domain: meta.domain,
    tags: [...meta.tags],
    request: { method, url, parameters, headers, body },
  };
}

const missingCall = (result_id: string, call_id: string): TickCall => ({
  result_id,
  call_id,
  name: "",
  domain: "",
  tags: [],
  request: { method: "", url: "", parameters: [], headers: [], body: null },
  unable: "the call was deleted, or the workflow's owner may no longer run it",
});
