// The run that a schedule has in a slot.
import { expect, it } from "vitest";
import { scheduledRun } from "../../src/scheduler/new-schedules.ts";
import type { Schedule } from "../../src/store/records.ts";
import { aSchedule } from "../support/runs.ts";

const NOON = Date.UTC(2026, 9, 1, 12);

const schedule = aSchedule({ deployment_id: "0123456789deployment00000a", run_delay: 90 });

it("makes the same run for the same schedule and slot", () => {
  const run = scheduledRun(schedule, NOON);
  expect(run).toEqual({
    result_id: expect.stringMatching(/^[0-9a-z]{26}$/),
    trigger: "SCHEDULE",
    deployment_id: "0123456789deployment00000a",
    target_id: "call",
    target_kind: "call",
    between_calls_delay: 0,
    call_ids: null,
    location_id: "local",
    owner: "ann",
    owner_org: null,
    context: {},
    trigger_time: NOON - 60_000,
    due_time: NOON + 30_000,
    latest_start: NOON + 60_000,
    expires_at: NOON + 60_000 + 180_000,
  });
  expect(scheduledRun(schedule, NOON)).toEqual(run);
});

it.each<[string, Partial<Schedule>, number]>([
  ["another slot", {}, NOON + 60_000],
  ["another deployment", { deployment_id: "0123456789deployment00000b" }, NOON],
  ["another delay", { run_delay: 30 }, NOON],
])("gives a run of %s its own id", (_what, change, slot) => {
  expect(scheduledRun({ ...schedule, ...change }, slot).result_id).not.toBe(
    scheduledRun(schedule, NOON).result_id,
  );
});
