// The tick that benchmarks use: one plain call.
import type { Tick } from "../../src/model/tick.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { LOCATION } from "./deployments.ts";

/** A tick this late comes from a backlog: the agent makes as many calls as it can. */
const OVERDUE_MS = 12_000;

export function tickFor(url: string, result_id: string): Tick {
  const now = systemClock.now();
  return {
    result_id,
    trigger: "SCHEDULE",
    trigger_time: now - OVERDUE_MS,
    due_time: now - OVERDUE_MS,
    latest_start: now + 30_000,
    deployment_id: "deployment",
    location_id: LOCATION,
    context: {},
    calls: [
      {
        result_id,
        call_id: "call",
        name: "bench",
        domain: "127.0.0.1",
        tags: [],
        request: { method: "GET", url, parameters: [], headers: [], body: null },
      },
    ],
  };
}
