// The agent role, on the main thread or in its own: the settings and wiring of each agent.
import { createAgent } from "../agent/agent.ts";
import type { Agent, AgentSettings } from "../agent/agent.ts";
import { createAgentMetrics } from "../agent/metrics.ts";
import type { AgentBus } from "../bus/bus.ts";
import { parseEgressAllow } from "../net/egress.ts";
import type { OwnNetwork } from "../net/egress.ts";
import { systemClock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Registry } from "../runtime/metrics.ts";
import { VERSION } from "../version.ts";

/** An agent's settings that can be sent to its thread. */
export interface AgentOrder extends Pick<
  AgentSettings,
  "locationId" | "agentId" | "uplinkCheck" | "spoolPath" | "leftSpoolPaths" | "concurrency"
> {
  /** Allowed targets beyond public addresses. */
  readonly egressAllow: readonly string[];
}

export interface AgentParts {
  readonly bus: AgentBus;
  readonly log: Logger;
  readonly registry: Registry;
  readonly own: OwnNetwork;
}

export const composeAgent = (
  { egressAllow, ...order }: AgentOrder,
  { bus, log, registry, own }: AgentParts,
): Agent =>
  createAgent({
    ...order,
    bus,
    clock: systemClock,
    log: log.child({ role: "agent" }),
    metrics: createAgentMetrics(registry),
    version: VERSION,
    egress: parseEgressAllow(egressAllow, own),
  });
