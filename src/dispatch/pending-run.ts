// Makes the runs that are then ordered: of a deployment's schedule in a slot, and at a caller's request.
import { derivedId, newId } from "../runtime/ids.ts";
import { dueRun, MAX_START_DELAY_MS } from "../model/slots.ts";
import type { PendingRun } from "../store/ports/run-store.ts";
import type { Schedule } from "../store/ports/schedule-store.ts";

/** The longest that one call may take (the `timeout:` tag), and what its report may then need to arrive. */
const LONGEST_CALL_MS = 120_000;
const REPORT_GRACE_MS = 60_000;

const expiryOf = (latestStart: number): number =>
  latestStart + LONGEST_CALL_MS + REPORT_GRACE_MS;

/** The run of `schedule` that is due in `slot`; the same slot always gives the same run. */
export function scheduledRun(schedule: Schedule, slot: number): PendingRun {
  const due = dueRun(schedule, slot);
  return {
    ...due,
    result_id: derivedId(
      due.due_time,
      schedule.deployment_id,
      String(due.trigger_time),
    ),
    trigger: "SCHEDULE",
    deployment_id: schedule.deployment_id,
    target_id: schedule.target_id,
    location_id: schedule.location_id,
    owner: schedule.owner,
    context: {},
    expires_at: expiryOf(due.latest_start),
  };
}

export interface RunOrder {
  readonly target_id: string;
  readonly location_id: string;
  /** On whose behalf it runs. */
  readonly owner: string;
  readonly context: Readonly<Record<string, unknown>>;
  /** Seconds from the request to the call. */
  readonly run_delay: number;
  /** Epoch milliseconds. */
  readonly now: number;
}

export function manualRun(order: RunOrder): PendingRun {
  const { target_id, location_id, owner, context, run_delay, now } = order;
  const due_time = now + run_delay * 1000;
  const latest_start = due_time + MAX_START_DELAY_MS;
  return {
    result_id: newId(now),
    trigger: "MANUAL",
    deployment_id: null,
    target_id,
    location_id,
    owner,
    context,
    trigger_time: now,
    due_time,
    latest_start,
    expires_at: expiryOf(latest_start),
  };
}
