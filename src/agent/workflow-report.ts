// What the agent says of a workflow's run as a whole.
import { formatInstant } from "../model/instant.ts";
import type { Result, RunReport, WorkflowResult } from "../model/result.ts";
import type { Tick, TickWorkflow } from "../model/tick.ts";
import { countsOfWorkflow } from "../model/workflow-result.ts";
import { reportOf } from "./report.ts";
import type { Reporter } from "./report.ts";

export type WorkflowTick = Tick & { readonly workflow: TickWorkflow };

export const isWorkflow = (tick: Tick): tick is WorkflowTick =>
  tick.workflow != null;

type Course = Pick<
  WorkflowResult["meta"],
  | "start_time"
  | "end_time"
  | "result"
  | "result_category"
  | "message"
  | "is_late"
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
  return { ...reportOf(reporter, tick, withinMessage(results)), workflow };
}

/** What a message to the hub has room for, beside the contents of responses and what every result has. */
const DETAILS_BYTES = 512 * 1024;
const LONGEST_URL = 200;

/** The last calls of a long workflow may be told of without what was sent and received; how they ended is always told. */
function withinMessage(results: readonly Result[]): Result[] {
  let left = DETAILS_BYTES;
  return results.map((result) => {
    const { request, response, hops, meta } = result;
    const details = JSON.stringify([request, response, hops, meta.url]);
    const bytes = Buffer.byteLength(details);
    if (bytes <= left) {
      left -= bytes;
      return result;
    }
    const url = meta.url.slice(0, LONGEST_URL);
    const message = [meta.message, "the report had no room for its details"]
      .filter(Boolean)
      .join("; ");
    return {
      ...result,
      meta: { ...meta, url, message },
      request: null,
      response: null,
      hops: [],
    };
  });
}

/** For a run that is not started: none of its calls has a result. */
export const missedWorkflow = (
  reporter: Reporter,
  tick: WorkflowTick,
  message: string,
): RunReport =>
  reportOfWorkflow(reporter, tick, [], {
    start_time: null,
    end_time: null,
    result: "MISSED",
    result_category: null,
    message,
    is_late: false,
  });
