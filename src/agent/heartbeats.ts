// The agent's signs of life, and what it learns of the hub's time by their answers.
import type { Bus } from "../bus/bus.ts";
import { HEARTBEAT_INTERVAL_MS } from "../model/location.ts";
import type { Heartbeat } from "../model/location.ts";
import type { Logger } from "../runtime/logger.ts";
import type { HubClock } from "./hub-clock.ts";
import type { AgentMetrics } from "./metrics.ts";

export interface Heartbeats {
  /** Resolves when it is answered, or is not going to be. One that fails is not repeated. */
  send(): Promise<void>;
  /** Sends regularly, and when the machine's clock was set, until `end`. */
  begin(): void;
  end(): void;
}

const WATCH_INTERVAL_MS = 1000;
/** What an operator should know of. */
const NOTABLE_OFFSET_MS = 1000;

export function createHeartbeats({
  bus,
  clock,
  log,
  metrics,
  read,
}: {
  readonly bus: Bus;
  readonly clock: HubClock;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
  readonly read: () => Heartbeat;
}): Heartbeats {
  const timers: NodeJS.Timeout[] = [];
  let offset: number | undefined;

  function note(measured: number): void {
    const isNotable = Math.abs(measured) > NOTABLE_OFFSET_MS;
    const wasNotable = Math.abs(offset ?? 0) > NOTABLE_OFFSET_MS;
    offset = measured;
    metrics.clockOffset.set(measured / 1000);
    if (isNotable === wasNotable) return;
    const fields = { clock_offset_ms: measured };
    if (isNotable) log.warn(fields, "machine's clock is wrong, the hub's time is used");
    else log.info(fields, "machine's clock is right again");
  }

  async function send(): Promise<void> {
    try {
      const sent = clock.monotonic();
      const hubTime = await bus.sendHeartbeat({
        ...read(),
        ...(offset !== undefined && { clock_offset_ms: offset }),
      });
      if (hubTime === null) return;
      clock.learn({ sent, hubTime, received: clock.monotonic() });
      note(clock.offset());
    } catch (cause) {
      log.debug({ err: cause }, "heartbeat not sent");
    }
  }

  return {
    send,
    begin() {
      timers.push(
        setInterval(() => void send(), HEARTBEAT_INTERVAL_MS),
        setInterval(() => {
          if (clock.wasSet()) void send();
        }, WATCH_INTERVAL_MS),
      );
    },
    end() {
      for (const timer of timers.splice(0)) clearInterval(timer);
    },
  };
}
