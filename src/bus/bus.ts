// The port between hub and agents. Adapters: in-process and NATS JetStream.
import { AppError } from "../model/errors.ts";
import type { Tick } from "../model/tick.ts";
import type { RunReport } from "../model/result.ts";
import type { Heartbeat } from "../model/location.ts";

/** Of runs that the bus can never carry. */
export class TooLargeError extends AppError {
  readonly runIds: readonly string[];

  constructor(runIds: readonly string[], message: string) {
    super("invalid", message);
    this.runIds = runIds;
  }
}

/** A running consumer. */
export interface Consumer {
  /**
   * Takes no more messages, waits for the handlers under way and what they acknowledge, then is
   * done.
   */
  drain(): Promise<void>;
}

/**
 * `answer` takes the hub's time, in epoch milliseconds; the sooner, the better the sender knows it.
 */
export type HeartbeatHandler = (
  heartbeat: Heartbeat,
  answer: (hubTime: number) => void,
) => Promise<void>;

export interface BusStatus {
  readonly connected: boolean;
  /** For an operator: where the bus is, and what is wrong while it is not connected. */
  readonly detail: string;
}

/**
 * Delivery is at least once, per location for ticks, without an order. A message is acknowledged
 * when its handler resolves; it comes again, to any consumer, when the handler rejects or its
 * process is gone. While a handler is at work its message is kept alive, for however long. A
 * message that cannot be decoded is dropped, logged and counted.
 */
export interface Bus {
  /**
   * False when messages are lost with the process: what was published must then be published again
   * at the next start.
   */
  readonly durable: boolean;

  /**
   * Resolves when the message is stored. The ticks are of one location. Publishing the same ticks
   * again within `DEDUPLICATION_WINDOW_MS` stores nothing new. Rejects with `unavailable` when the
   * bus does not answer in 5 s, and with a `TooLargeError` when some of them fit into no message;
   * the others are then stored.
   */
  publishTicks(ticks: readonly Tick[]): Promise<void>;

  /** The consumers of one location share its messages; no other location's messages reach them. */
  consumeTicks(
    locationId: string,
    handler: (ticks: readonly Tick[]) => Promise<void>,
  ): Promise<Consumer>;

  /**
   * Resolves when the message is stored; de-duplicated and rejected as ticks are. The reports are
   * of one location.
   */
  publishReports(reports: readonly RunReport[]): Promise<void>;

  /**
   * Hands over what has gathered, up to `MAX_REPORTS_PER_BATCH` reports or what came within some 20
   * ms, so that one transaction can take it. All of the messages behind a batch are acknowledged
   * together. Consumers share the work.
   */
  consumeReports(handler: (reports: readonly RunReport[]) => Promise<void>): Promise<Consumer>;

  /**
   * Resolves when the reports that were published in this process are safe with it gone: at once on
   * a durable bus, otherwise when a handler has taken the last of them.
   */
  reportsSafe(): Promise<void>;

  /**
   * Resolves with the hub's time, in epoch milliseconds, or with null when nobody answers within
   * `HEARTBEAT_ANSWER_MS`. Best effort: a heartbeat that finds no consumer is gone.
   */
  sendHeartbeat(heartbeat: Heartbeat): Promise<number | null>;
  /** Each heartbeat goes to one of the consumers. */
  consumeHeartbeats(handler: HeartbeatHandler): Promise<Consumer>;

  status(): BusStatus;

  /** `host:port` of the servers that it was told of while connected, configured or not. */
  announcedServers(): readonly string[];

  /** Ends every consumer and the connection. */
  close(): Promise<void>;
}

export const DEDUPLICATION_WINDOW_MS = 120_000;
export const MAX_REPORTS_PER_BATCH = 1000;
export const HEARTBEAT_ANSWER_MS = 2000;

/**
 * What nobody has taken by then is gone: stale ticks are of no use, and results outlast a long
 * weekend without a hub.
 */
export const TICK_MAX_AGE_MS = 3_600_000;
export const REPORT_MAX_AGE_MS = 7 * 86_400_000;

/** How long a message waits after its nth delivery was rejected: 100 ms, doubling, at most 5 s. */
export const redeliveryDelayMs = (attempt: number): number =>
  Math.min(100 * 2 ** Math.min(attempt - 1, 10), 5000);
