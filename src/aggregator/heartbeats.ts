// The hub's side of heartbeats: answers each with its time and orders, and records the agent.
import type { HeartbeatHandler } from "../bus/bus.ts";
import { MAX_AGENTS_PER_LOCATION, OLDEST_PROTOCOL, refusalOf } from "../model/agent.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Store } from "../store/store.ts";

export interface HeartbeatOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** The hub's own version. */
  readonly version: string;
  /** The oldest protocol of agents whose results the hub accepts; default `OLDEST_PROTOCOL`. */
  readonly oldestProtocol?: number;
}

const FORGET_EVERY_MS = 3_600_000;
const LOG_EVERY_MS = 60_000;

export function createHeartbeatHandler(options: HeartbeatOptions): HeartbeatHandler {
  const { store, clock, log, version, oldestProtocol = OLDEST_PROTOCOL } = options;
  const isTimeToForget = createInterval(clock, FORGET_EVERY_MS);
  const isTimeToLog = createInterval(clock, LOG_EVERY_MS);

  return async (heartbeat, answer) => {
    const { agent_id, location_id } = heartbeat;
    try {
      const refused = refusalOf(heartbeat, { version, oldestProtocol });
      const known = await store.agents.find(heartbeat);
      const now = await store.now();
      answer({ now, ...(known?.drain_ordered && { drain: true }), ...(refused && { refused }) });
      if (!known && !(await store.agents.makeRoom(location_id, now))) {
        if (isTimeToLog())
          log.warn(
            { location_id, agent_id, agents: MAX_AGENTS_PER_LOCATION },
            "agent not listed: its location has too many agents",
          );
        return;
      }
      await store.agents.record(heartbeat, { now, refused: refused !== undefined });
      log.debug({ location_id, agent_id, state: heartbeat.state }, "heartbeat recorded");
      if (isTimeToForget()) await store.agents.forgetOld(now);
    } catch (err) {
      log.debug({ err, location_id, agent_id }, "heartbeat not recorded");
    }
  };
}

/** Returns a check that is true at most once in each interval. */
function createInterval(clock: Clock, ms: number): () => boolean {
  let last = -Infinity;
  return () => {
    const now = clock.monotonic();
    if (now - last < ms) return false;
    last = now;
    return true;
  };
}
