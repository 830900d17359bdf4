// The aggregator role: records results in the ledger and its statistics, and the heartbeats of
// agents.
import type { Bus, Consumer } from "../bus/bus.ts";
import type { Service } from "../runtime/lifecycle.ts";
import { recordResults } from "./record-results.ts";
import type { RecordResultsOptions } from "./record-results.ts";

export function createAggregator(options: RecordResultsOptions & { readonly bus: Bus }): Service {
  const { bus, store, log } = options;
  let consumers: Consumer[] = [];
  return {
    name: "aggregator",
    async start() {
      consumers = [
        await bus.consumeReports((reports) => recordResults(options, reports)),
        await bus.consumeHeartbeats(async (heartbeat, answer) => {
          try {
            const now = await store.now();
            answer({ now });
            await store.locations.recordHeartbeat(heartbeat, now);
          } catch (err) {
            log.debug({ err, agent_id: heartbeat.agent_id }, "heartbeat not stored");
          }
        }),
      ];
    },
    async stop() {
      await bus.reportsSafe();
      await Promise.all(consumers.map((consumer) => consumer.drain()));
    },
  };
}
