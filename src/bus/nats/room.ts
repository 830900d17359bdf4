// Tracks which kinds of messages NATS refuses for lack of room, for the log and the status.
import type { Clock } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { Content } from "../delivery.ts";
import { REPORT_STREAM, TICK_STREAM } from "./topology.ts";

const ADVICE: Readonly<Record<Content, string>> = {
  ticks: `${TICK_STREAM} has no room for ticks: start agents where there are none, or raise SONDE_NATS_TICKS_MIB`,
  reports: `${REPORT_STREAM} has no room for results: start an aggregator, or raise SONDE_NATS_RESULTS_MIB`,
};

/**
 * Without a refusal for this long, there is room again: smaller messages may fit where larger ones
 * do not.
 */
const CALM_MS = 10_000;

export interface RoomOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Called for each refused message. */
  readonly onRefused?: (content: Content) => void;
}

export type Room = ReturnType<typeof watchRoom>;

export function watchRoom({ clock, log, onRefused }: RoomOptions) {
  const refused = new Map<Content, { reason: string; at: number }>();
  return {
    refuse(content: Content, reason: string): void {
      onRefused?.(content);
      if (!refused.has(content)) log.error({ reason }, ADVICE[content]);
      refused.set(content, { reason, at: clock.monotonic() });
    },
    store(content: Content): void {
      const last = refused.get(content);
      if (!last || clock.monotonic() - last.at < CALM_MS) return;
      refused.delete(content);
      log.info({ messages: content }, "NATS has room again");
    },
    /** Undefined while everything is stored. */
    fault(): string | undefined {
      const [first] = refused;
      return first && `${ADVICE[first[0]]} (${first[1].reason})`;
    },
  };
}
