import { expect, it } from "vitest";
import { activeFrom } from "../../src/model/deployment.ts";
import type { Deployment } from "../../src/model/deployment.ts";
import { CHANGE_LEAD_MS, nextTrigger } from "../../src/model/slots.ts";

const NOON = Date.UTC(2026, 9, 1, 12);

const deployment = (change: Partial<Deployment["deployment"]> = {}): Deployment => ({
  id: "d",
  meta: { owner: "ann", created: "", last_update: "" },
  deployment: {
    target_id: "call",
    location_id: "local",
    frequency: 5,
    run_delay: 0,
    between_calls_delay: 0,
    ...change,
  },
});

// The first trigger at or after `active_from` is the first that runs.
const firstTrigger = (activeAt: number): number => nextTrigger(1, activeAt - 1);

it.each([
  ["on a trigger", 0, 60_000],
  ["just after one", 1, 60_000],
  ["just before one", 59_999, 60_000],
])("starts with the first trigger after a creation %s", (_when, after, first) => {
  const from = activeFrom(undefined, deployment(), NOON + after) as number;
  expect(firstTrigger(from)).toBe(NOON + first);
});

it.each([
  ["more than the lead before a trigger", -CHANGE_LEAD_MS - 1, 0],
  ["exactly the lead before a trigger", -CHANGE_LEAD_MS, 60_000],
  ["less than the lead before a trigger", -1, 60_000],
  ["on a trigger", 0, 60_000],
])(
  "applies a change made %s from a trigger that the beat has not passed",
  (_when, before, first) => {
    const changed = deployment({ frequency: 1 });
    const from = activeFrom(deployment(), changed, NOON + before) as number;
    expect(firstTrigger(from)).toBe(NOON + first);
  },
);

it.each<[keyof Deployment["deployment"], Partial<Deployment["deployment"]>]>([
  ["target_id", { target_id: "other" }],
  ["location_id", { location_id: "far" }],
  ["frequency", { frequency: 10 }],
  ["run_delay", { run_delay: 1 }],
  ["between_calls_delay", { between_calls_delay: 5 }],
])("changes the schedule with %s", (_field, change) => {
  expect(activeFrom(deployment(), deployment(change), NOON)).toBeDefined();
});

it("leaves the schedule alone when it does not change", () => {
  expect(activeFrom(deployment(), deployment(), NOON)).toBeUndefined();
});
