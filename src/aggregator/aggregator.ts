// The aggregator role: records results in the ledger and the statistics, and records agents'
// heartbeats.
import type { Bus, Consumer } from "../bus/bus.ts";
import { createCron } from "../runtime/cron.ts";
import type { Service } from "../runtime/lifecycle.ts";
import { createHeartbeatHandler } from "./heartbeats.ts";
import type { HeartbeatOptions } from "./heartbeats.ts";
import { recordResults } from "./record-results.ts";
import type { RecordResultsOptions } from "./record-results.ts";

export interface AggregatorOptions extends RecordResultsOptions, HeartbeatOptions {
  readonly bus: Bus;
}

export function createAggregator(options: AggregatorOptions): Service {
  const { bus } = options;
  let consumers: Consumer[] = [];
  return {
    name: "aggregator",
    async start() {
      consumers = [
        await bus.consumeReports((reports) => recordResults(options, reports)),
        await bus.consumeHeartbeats(createHeartbeatHandler(options)),
      ];
    },
    async stop() {
      await bus.reportsSafe();
      await Promise.all(consumers.map((consumer) => consumer.drain()));
    },
  };
}

/** A listener that was away for longer starts over. */
const NOTICES_KEPT_MS = 600_000;
const EVERY_MINUTE = "* * * * *";

/** Prunes notices of recorded results after listeners have had time to read them. */
export const createNoticePruning = ({
  store,
  log,
}: Pick<AggregatorOptions, "store" | "log">): Service =>
  createCron({
    name: "notice pruning",
    expression: EVERY_MINUTE,
    log,
    work: () => store.recorded.prune(NOTICES_KEPT_MS),
  });
