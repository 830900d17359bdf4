// Makes pending runs: for a slot of a deployment's schedule, and for a caller's request.
import { derivedId, newId } from "../runtime/ids.ts";
import { dueRun, MAX_START_DELAY_MS } from "../model/slots.ts";
import { LONGEST_CALL_MS } from "../model/workflow-result.ts";
import type { TargetKind } from "../model/tick.ts";
import type { PendingRun, Schedule } from "../store/records.ts";

/** Time for a report to arrive. */
const REPORT_GRACE_MS = 60_000;

/** When a run of at most `longestMs` expires. For a workflow, planning sets it. */
export const expiryOf = (latestStart: number, longestMs = LONGEST_CALL_MS): number =>
  latestStart + longestMs + REPORT_GRACE_MS;

/** The run of `schedule` in `slot`; always the same for the same slot. */
export function scheduledRun(schedule: Schedule, slot: number): PendingRun {
  const due = dueRun(schedule, slot);
  return {
    ...due,
    result_id: derivedId(due.due_time, schedule.deployment_id, String(due.trigger_time)),
    trigger: "SCHEDULE",
    deployment_id: schedule.deployment_id,
    target_id: schedule.target_id,
    target_kind: schedule.target_kind,
    between_calls_delay: schedule.between_calls_delay,
    call_ids: null,
    location_id: schedule.location_id,
    owner: schedule.owner,
    context: {},
    expires_at: expiryOf(due.latest_start),
  };
}

export interface RunOrder {
  readonly target_id: string;
  readonly target_kind: TargetKind;
  /** Seconds. */
  readonly between_calls_delay: number;
  readonly location_id: string;
  /** The user on whose behalf it runs. */
  readonly owner: string;
  readonly context: Readonly<Record<string, unknown>>;
  /** Seconds from the request to the call. */
  readonly run_delay: number;
  /** Epoch milliseconds. */
  readonly now: number;
}

export function manualRun(order: RunOrder): PendingRun {
  const { run_delay, now, ...rest } = order;
  const due_time = now + run_delay * 1000;
  const latest_start = due_time + MAX_START_DELAY_MS;
  return {
    ...rest,
    result_id: newId(now),
    trigger: "MANUAL",
    deployment_id: null,
    call_ids: null,
    trigger_time: now,
    due_time,
    latest_start,
    expires_at: expiryOf(latest_start),
  };
}
