// Sends the agent's heartbeats. The hub's answers correct its clock and say whether to take ticks.
import { setTimeout as pause } from "node:timers/promises";
import type { AgentBus } from "../bus/bus.ts";
import { PROTOCOL } from "../model/agent.ts";
import { HEARTBEAT_INTERVAL_MS, HEARTBEATS_OF_SILENCE } from "../model/heartbeat.ts";
import type { Heartbeat } from "../model/heartbeat.ts";
import { isPublicAddress } from "../net/egress.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Duty } from "./duty.ts";
import type { HubClock } from "./hub-clock.ts";
import type { AgentMetrics } from "./metrics.ts";

/** What the agent reports about itself. */
export type Condition = Required<Pick<Heartbeat, "state" | "in_flight" | "held">> &
  Pick<Heartbeat, "spool">;

export interface HeartbeatSettings {
  readonly bus: AgentBus;
  readonly clock: HubClock;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
  readonly locationId: string;
  readonly agentId: string;
  readonly version: string;
  /** Maximum calls at a time. */
  readonly concurrency: number;
  readonly condition: () => Condition;
  /** Follows the orders in each answer. */
  readonly duty: Pick<Duty, "follow">;
}

const WATCH_INTERVAL_MS = 1000;
/** An offset above this is logged. */
const NOTABLE_OFFSET_MS = 1000;

/** The wait before the next heartbeat if an answer calls for another one soon. */
const CONFIRM_AFTER_MS = 300;
/** Maximum heartbeats in a row before the agent waits for the next interval. */
const MOST_QUESTIONS = 8;

export function createHeartbeats(settings: HeartbeatSettings) {
  const { clock, log } = settings;
  const offset = createOffset(settings);
  const silence = createSilence(settings);
  const timers: NodeJS.Timeout[] = [];
  let sending: Promise<void> | undefined;

  /** Returns whether to send another soon. */
  async function sendOne(): Promise<boolean> {
    const sent = clock.monotonic();
    const answer = await settings.bus.sendHeartbeat(heartbeatOf(settings, offset.get()));
    silence.note(answer !== null);
    if (answer === null) return false;
    const isDoubted = clock.learn({ sent, hubTime: answer.now, received: clock.monotonic() });
    if (!isDoubted) offset.set(clock.offset());
    const isChanged = settings.duty.follow(answer);
    return isDoubted || isChanged;
  }

  async function sendAll(): Promise<void> {
    try {
      for (let asked = 1; (await sendOne()) && asked < MOST_QUESTIONS; asked += 1)
        await pause(CONFIRM_AFTER_MS);
    } catch (cause) {
      log.debug({ err: cause }, "heartbeat not sent");
    }
  }

  /**
   * Sends a heartbeat, and more while an answer needs confirmation or has changed what the agent
   * does. Resolves when the last one is answered or has failed; a failed one is not retried.
   */
  const send = (): Promise<void> =>
    (sending ??= sendAll().finally(() => {
      sending = undefined;
    }));

  return {
    send,
    /** Sends at intervals, and after each change of the machine's clock, until `end`. */
    begin(): void {
      timers.push(
        setInterval(() => void send(), HEARTBEAT_INTERVAL_MS),
        setInterval(() => {
          if (clock.wasSet()) void send();
        }, WATCH_INTERVAL_MS),
      );
    },
    /** Reports the agent's condition to the hub at once; resolves as `send` does. */
    async report(): Promise<void> {
      await sending;
      await send();
    },
    end(): void {
      for (const timer of timers.splice(0)) clearInterval(timer);
    },
  };
}

/**
 * Counts unanswered heartbeats while the bus's server can be reached; otherwise the bus reports the
 * fault. `status()` does not show it: with a wrong key, the hub leaves every heartbeat unanswered,
 * and the bus counts as not connected as soon as it cannot open a message.
 */
function createSilence({ bus, log, metrics, locationId }: HeartbeatSettings) {
  let unanswered = 0;
  return {
    note(isAnswered: boolean): void {
      if (isAnswered) {
        if (unanswered >= HEARTBEATS_OF_SILENCE) log.info("hub answers again");
        unanswered = 0;
      } else if (bus.connection()?.isUp ?? true) {
        unanswered += 1;
        if (unanswered === HEARTBEATS_OF_SILENCE)
          log.warn(
            `hub does not answer: start an aggregator or repair its database, or set SONDE_LOCATION_KEY to the key that \`sonde locations env ${locationId}\` prints`,
          );
      }
      metrics.unansweredHeartbeats.set(unanswered);
    },
  };
}

/** The offset of the hub's time from the machine's clock; undefined until it is measured. */
function createOffset({ log, metrics }: HeartbeatSettings) {
  let offset: number | undefined;
  return {
    get: (): number | undefined => offset,
    set(measured: number): void {
      const isNotable = Math.abs(measured) > NOTABLE_OFFSET_MS;
      const wasNotable = Math.abs(offset ?? 0) > NOTABLE_OFFSET_MS;
      offset = measured;
      metrics.clockOffset.set(measured / 1000);
      if (isNotable === wasNotable) return;
      const fields = { clock_offset_ms: measured };
      if (isNotable) log.warn(fields, "machine's clock is wrong; using the hub's time");
      else log.info(fields, "machine's clock is right again");
    },
  };
}

function heartbeatOf(settings: HeartbeatSettings, offset: number | undefined): Heartbeat {
  const { bus, clock, locationId, agentId, version, concurrency, condition } = settings;
  const seenAt = bus.seenAt();
  return {
    agent_id: agentId,
    location_id: locationId,
    version,
    protocol: PROTOCOL,
    capacity: concurrency,
    ...condition(),
    sent: clock.now(),
    // Any other address is internal: targets elsewhere do not see it.
    ...(isPublicAddress(seenAt) && { remote_addr: seenAt }),
    ...(offset !== undefined && { clock_offset_ms: offset }),
  };
}
