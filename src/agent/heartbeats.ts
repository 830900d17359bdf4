// The agent's heartbeats. The hub's answers to them correct its clock.
import type { AgentBus } from "../bus/bus.ts";
import { PROTOCOL } from "../model/agent.ts";
import { HEARTBEAT_INTERVAL_MS } from "../model/location.ts";
import { isPublicAddress } from "../net/egress.ts";
import type { Logger } from "../runtime/logger.ts";
import type { HubClock } from "./hub-clock.ts";
import type { AgentMetrics } from "./metrics.ts";

export interface HeartbeatSettings {
  readonly bus: AgentBus;
  readonly clock: HubClock;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
  readonly locationId: string;
  readonly agentId: string;
  readonly version: string;
  /** Runs in flight. */
  readonly inFlight: () => number;
}

const WATCH_INTERVAL_MS = 1000;
/** An offset above this is logged. */
const NOTABLE_OFFSET_MS = 1000;

export function createHeartbeats(settings: HeartbeatSettings) {
  const { bus, clock, log, metrics, locationId, agentId, version, inFlight } = settings;
  const timers: NodeJS.Timeout[] = [];
  let offset: number | undefined;

  function note(measured: number): void {
    const isNotable = Math.abs(measured) > NOTABLE_OFFSET_MS;
    const wasNotable = Math.abs(offset ?? 0) > NOTABLE_OFFSET_MS;
    offset = measured;
    metrics.clockOffset.set(measured / 1000);
    if (isNotable === wasNotable) return;
    const fields = { clock_offset_ms: measured };
    if (isNotable) log.warn(fields, "machine's clock is wrong; using the hub's time");
    else log.info(fields, "machine's clock is right again");
  }

  /** Resolves once it is answered or has failed; a failed heartbeat is not retried. */
  async function send(): Promise<void> {
    try {
      const sent = clock.monotonic();
      const seenAt = bus.seenAt();
      const answer = await bus.sendHeartbeat({
        agent_id: agentId,
        location_id: locationId,
        version,
        protocol: PROTOCOL,
        in_flight: inFlight(),
        sent: clock.now(),
        // Any other is an address inside a network, which targets elsewhere do not see.
        ...(isPublicAddress(seenAt) && { remote_addr: seenAt }),
        ...(offset !== undefined && { clock_offset_ms: offset }),
      });
      if (answer === null) return;
      clock.learn({ sent, hubTime: answer.now, received: clock.monotonic() });
      note(clock.offset());
    } catch (cause) {
      log.debug({ err: cause }, "heartbeat not sent");
    }
  }

  return {
    send,
    /** Sends at intervals, and whenever the machine's clock was set, until `end`. */
    begin(): void {
      timers.push(
        setInterval(() => void send(), HEARTBEAT_INTERVAL_MS),
        setInterval(() => {
          if (clock.wasSet()) void send();
        }, WATCH_INTERVAL_MS),
      );
    },
    end(): void {
      for (const timer of timers.splice(0)) clearInterval(timer);
    },
  };
}
