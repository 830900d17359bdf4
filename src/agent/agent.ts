// The agent role: takes the ticks of its location, makes the calls, and reports them.
import type { Bus, Consumer } from "../bus/bus.ts";
import { HEARTBEAT_INTERVAL_MS } from "../model/location.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import { createDeliveries } from "./deliveries.ts";
import { parseEgressAllow } from "./egress.ts";
import { createHttpCaller } from "./http-call.ts";
import type { AgentMetrics } from "./metrics.ts";
import { createReportPublisher } from "./report-publisher.ts";
import { createTickRunner } from "./run-tick.ts";

export interface AgentSettings {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
  readonly locationId: string;
  readonly agentId: string;
  readonly version: string;
  /** What may be called beyond public addresses; see `parseEgressAllow`. */
  readonly egress: { readonly allow: readonly string[] };
  /** Runs made at a time. */
  readonly concurrency?: number;
}

const DEFAULT_CONCURRENCY = 500;
const STOP_WITHIN_MS = 10_000;

/** Throws `invalid` naming a wrong egress entry. */
export function createAgent({
  bus,
  clock,
  metrics,
  locationId,
  agentId,
  version,
  egress,
  concurrency = DEFAULT_CONCURRENCY,
  ...settings
}: AgentSettings): Service {
  const log = settings.log.child({
    location_id: locationId,
    agent_id: agentId,
  });
  const caller = createHttpCaller({
    clock,
    egress: parseEgressAllow(egress.allow),
  });
  const runner = createTickRunner({
    clock,
    log,
    caller,
    reporter: { locationId, agentId },
    version,
  });
  const publisher = createReportPublisher({ bus, log, metrics });
  const deliveries = createDeliveries({
    clock,
    runner,
    publisher,
    metrics,
    concurrency,
  });
  let consumer: Consumer | undefined;
  let heartbeats: NodeJS.Timeout | undefined;

  const beat = (): void => {
    const heartbeat = {
      agent_id: agentId,
      location_id: locationId,
      version,
      in_flight: deliveries.inFlight(),
      sent: clock.now(),
    };
    bus
      .publishHeartbeat(heartbeat)
      .catch((cause: unknown) =>
        log.debug({ err: cause }, "heartbeat not published"),
      );
  };

  return {
    name: `agent of ${locationId}`,
    async start() {
      consumer = await bus.consumeTicks(locationId, (ticks) =>
        deliveries.take(ticks),
      );
      beat();
      heartbeats = setInterval(beat, HEARTBEAT_INTERVAL_MS);
    },
    async stop() {
      clearInterval(heartbeats);
      const drained = consumer?.drain();
      deliveries.giveBack();
      const overdue = setTimeout(() => {
        deliveries.cancel();
        publisher.abandon(
          new Error("the agent stopped before the bus answered"),
        );
      }, STOP_WITHIN_MS);
      try {
        await drained;
      } finally {
        clearTimeout(overdue);
      }
    },
  };
}
