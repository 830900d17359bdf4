// The tick of a benchmark: one plain call, due now.
import type { Tick } from "../src/model/tick.ts";
import { systemClock } from "../src/runtime/clock.ts";

export function tickFor(url: string, result_id: string): Tick {
  const now = systemClock.now();
  return {
    result_id,
    trigger: "SCHEDULE",
    trigger_time: now,
    due_time: now,
    latest_start: now + 30_000,
    deployment_id: "deployment",
    location_id: "local",
    context: {},
    calls: [
      {
        result_id,
        call_id: "call",
        name: "bench",
        domain: "127.0.0.1",
        tags: [],
        request: {
          method: "GET",
          url,
          parameters: [],
          headers: [],
          body: null,
        },
      },
    ],
  };
}
