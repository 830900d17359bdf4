// What the agent says of a workflow's run as a whole.
import { formatInstant } from "../model/instant.ts";
import type { Result, RunReport, WorkflowResult } from "../model/result.ts";
import { workflowResultWithoutCalls } from "../model/result-without-call.ts";
import type { Tick, TickWorkflow } from "../model/tick.ts";
import { countsOfWorkflow } from "../model/workflow-result.ts";
import { reportOf } from "./report.ts";
import type { Reporter } from "./report.ts";

export type WorkflowTick = Tick & { readonly workflow: TickWorkflow };

export const isWorkflow = (tick: Tick): tick is WorkflowTick => tick.workflow != null;

type Course = Pick<
  WorkflowResult["meta"],
  "start_time" | "end_time" | "result" | "result_category" | "message" | "is_late"
>;

export function reportOfWorkflow(
  reporter: Reporter,
  tick: WorkflowTick,
  results: Result[],
  course: Course,
): RunReport {
  const workflow: WorkflowResult = {
    id: tick.result_id,
    meta: {
      workflow_id: tick.workflow.workflow_id,
      name: tick.workflow.name,
      deployment_id: tick.deployment_id,
      location_id: reporter.locationId,
      agent_id: reporter.agentId,
      trigger: tick.trigger,
      trigger_time: formatInstant(tick.trigger_time),
      due_time: formatInstant(tick.due_time),
      ...course,
    },
    counts: countsOfWorkflow(results),
  };
  return { ...reportOf(reporter, tick, results), workflow };
}

/** For a run that is not started: none of its calls has a result. */
export const missedWorkflow = (
  reporter: Reporter,
  tick: WorkflowTick,
  message: string,
): RunReport => ({
  ...reportOf(reporter, tick, []),
  workflow: workflowResultWithoutCalls(
    tick,
    tick.workflow,
    { result: "MISSED", message },
    reporter.agentId,
  ),
});
