// Tracks which kinds of messages NATS refuses for lack of room, for the log and the status.
import type { Clock } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { Content } from "../delivery.ts";
import { isNoStorage, textOf } from "./errors.ts";
import { REPORT_STREAM, TICK_STREAM } from "./topology.ts";

const ADVICE: Readonly<Record<Content, string>> = {
  ticks: `${TICK_STREAM} has no room for ticks: start agents where there are none, or raise SONDE_NATS_TICKS_MIB`,
  reports: `${REPORT_STREAM} has no room for results: start an aggregator, or raise SONDE_NATS_RESULTS_MIB`,
};

const streamOf = (content: Content): string => (content === "ticks" ? TICK_STREAM : REPORT_STREAM);

const adviceOn = (content: Content, cause: unknown): string =>
  isNoStorage(cause)
    ? `JetStream has no storage for ${streamOf(content)}: make room on the disk of nats-server, or raise its max_file_store or the max_file of the account`
    : ADVICE[content];

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
  const refused = new Map<Content, { advice: string; reason: string; at: number }>();
  return {
    refuse(content: Content, cause: unknown): void {
      onRefused?.(content);
      const [advice, reason] = [adviceOn(content, cause), textOf(cause)];
      if (refused.get(content)?.advice !== advice) log.error({ reason }, advice);
      refused.set(content, { advice, reason, at: clock.monotonic() });
    },
    store(content: Content): void {
      const last = refused.get(content);
      if (!last || clock.monotonic() - last.at < CALM_MS) return;
      refused.delete(content);
      log.info({ messages: content }, "NATS has room again");
    },
    /** Undefined while everything is stored. */
    fault(): string | undefined {
      const [first] = refused.values();
      return first && `${first.advice} (${first.reason})`;
    },
  };
}
