// Tracks which kinds of messages NATS refuses for lack of room, for the log and the status.
import type { Clock } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { ItemKind } from "../delivery.ts";
import { isNoStorage, textOf } from "./errors.ts";
import { REPORT_STREAM, TICK_STREAM } from "./topology.ts";

const ADVICE: Readonly<Record<ItemKind, string>> = {
  ticks: `${TICK_STREAM} has no room for ticks: start agents where there are none, or raise SONDE_NATS_TICKS_MIB`,
  reports: `${REPORT_STREAM} has no room for results: start an aggregator, or raise SONDE_NATS_RESULTS_MIB`,
};

const streamOf = (kind: ItemKind): string => (kind === "ticks" ? TICK_STREAM : REPORT_STREAM);

const adviceOn = (kind: ItemKind, cause: unknown): string =>
  isNoStorage(cause)
    ? `JetStream has no storage for ${streamOf(kind)}: make room on the disk of nats-server, or raise its max_file_store or the max_file of the account`
    : ADVICE[kind];

/**
 * Without a refusal for this long, there is room again: smaller messages may fit where larger ones
 * do not.
 */
const CALM_MS = 10_000;

export interface RoomOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Called for each refused message. */
  readonly onRefused?: (kind: ItemKind) => void;
}

export type Room = ReturnType<typeof watchRoom>;

export function watchRoom({ clock, log, onRefused }: RoomOptions) {
  const refusals = new Map<ItemKind, { advice: string; reason: string; at: number }>();
  return {
    refused(kind: ItemKind, cause: unknown): void {
      onRefused?.(kind);
      const [advice, reason] = [adviceOn(kind, cause), textOf(cause)];
      if (refusals.get(kind)?.advice !== advice) log.error({ reason }, advice);
      refusals.set(kind, { advice, reason, at: clock.monotonic() });
    },
    stored(kind: ItemKind): void {
      const last = refusals.get(kind);
      if (!last || clock.monotonic() - last.at < CALM_MS) return;
      refusals.delete(kind);
      log.info({ messages: kind }, "NATS has room again");
    },
    /** Undefined while everything is stored. */
    fault(): string | undefined {
      const [first] = refusals.values();
      return first && `${first.advice} (${first.reason})`;
    },
  };
}
