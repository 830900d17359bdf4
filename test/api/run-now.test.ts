// The run that a caller orders by hand.
import { expect, it } from "vitest";
import { manualRun } from "../../src/api/run-now.ts";

const NOON = Date.UTC(2026, 9, 1, 12);

it("orders a manual run for the request's time and its delay", () => {
  const order = {
    target_id: "call",
    target_kind: "call" as const,
    between_calls_delay: 0,
    location_id: "far",
    owner: "ann",
    owner_org: null,
    context: { A: 1 },
    run_delay: 5,
    now: NOON,
  };
  const run = manualRun(order);
  expect(run).toEqual({
    result_id: expect.stringMatching(/^[0-9a-z]{26}$/),
    trigger: "MANUAL",
    deployment_id: null,
    target_id: "call",
    target_kind: "call",
    between_calls_delay: 0,
    call_ids: null,
    location_id: "far",
    owner: "ann",
    owner_org: null,
    context: { A: 1 },
    trigger_time: NOON,
    due_time: NOON + 5000,
    latest_start: NOON + 65_000,
    expires_at: NOON + 65_000 + 180_000,
  });
  expect(manualRun(order).result_id > run.result_id).toBe(true);
});
