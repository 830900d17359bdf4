// Orders the runs of deployments that were stored after their slots were opened, in place of those
// that the deployments had before a change.
import { PUBLISH_AHEAD_MS } from "../dispatch/dispatch.ts";
import { dueRun, expiryOf, slotsUpTo } from "../model/slots.ts";
import { scheduledRunId } from "../runtime/ids.ts";
import type { Lease, PendingRun, Schedule, StoredSchedule } from "../store/records.ts";
import { missedFor } from "./missed.ts";
import type { Renew, SchedulerParts } from "./parts.ts";

/**
 * Looks at each new schedule once. Slots that are still being opened find it themselves. Returns
 * the time afterwards; undefined if the beat must end.
 */
export async function orderRunsOfNewSchedules(
  options: SchedulerParts,
  lease: Lease,
  start: number,
  renew: Renew,
): Promise<number | undefined> {
  const { store, log, metrics } = options;
  let now: number | undefined = start;
  while (now !== undefined) {
    const added = await store.schedules.listNew();
    if (added.length === 0) break;
    const { ordered, missed } = await orderRunsOf(options, lease, added, now);
    metrics.runs.inc(ordered);
    metrics.missed.inc({ reason: "deployed_late" }, missed);
    if (ordered + missed > 0)
      log.info({ ordered, missed }, "runs of new or changed deployments ordered");
    now = await renew();
  }
  return now;
}

/** Does nothing for a former leaseholder: its cursor is stale. */
async function orderRunsOf(
  { store }: SchedulerParts,
  lease: Lease,
  added: readonly StoredSchedule[],
  now: number,
): Promise<{ readonly ordered: number; readonly missed: number }> {
  const { cursor } = lease;
  return store.transaction(async ({ leases, schedules, slots, pendingRuns, results }) => {
    if (cursor === null || !(await leases.advance(lease, cursor))) return { ordered: 0, missed: 0 };
    await schedules.forgetNew(added);
    for (const schedule of added)
      await slots.withdrawReplaced(schedule, cursor, now + PUBLISH_AHEAD_MS);
    // Runs that were late when their slot was opened are still to be recorded there.
    const opened = new Map(
      (await slots.list({ late: true })).map((each) => [each.slot, each.opened]),
    );
    const runs = added.flatMap((schedule) =>
      slotsUpTo(schedule, cursor)
        .filter((slot) => dueRun(schedule, slot).latest_start >= (opened.get(slot) ?? -Infinity))
        .map((slot) => scheduledRun(schedule, slot)),
    );
    const fresh = await pendingRuns.insert(runs);
    const tooLate = fresh.filter((run) => run.latest_start < now);
    if (tooLate.length > 0)
      await results.recordUnreported(tooLate.map((run) => missedFor("deployed_late", run)));
    return { ordered: fresh.length - tooLate.length, missed: tooLate.length };
  });
}

/** The run of `schedule` in `slot`; the store makes the same when it opens the slot. */
export function scheduledRun(schedule: Schedule, slot: number): PendingRun {
  const due = dueRun(schedule, slot);
  return {
    ...due,
    result_id: scheduledRunId(due.trigger_time, schedule.deployment_id),
    trigger: "SCHEDULE",
    deployment_id: schedule.deployment_id,
    target_id: schedule.target_id,
    target_kind: schedule.target_kind,
    between_calls_delay: schedule.between_calls_delay,
    call_ids: null,
    location_id: schedule.location_id,
    owner: schedule.owner,
    owner_org: schedule.owner_org,
    context: {},
    expires_at: expiryOf(due.latest_start),
  };
}
