// The port between hub and agents. Adapters: in-process.ts, and nats/ for NATS JetStream.
import { AppError } from "../model/errors.ts";
import { checkLocationId } from "../model/location.ts";
import { DAY_MS } from "../model/periods.ts";
import type { Tick } from "../model/tick.ts";
import type { RunReport } from "../model/result.ts";
import type { CallCredentials, CredentialsRequest } from "../model/call-credentials.ts";
import type { Heartbeat, HeartbeatAnswer } from "../model/heartbeat.ts";

/** The bus can never carry these runs. */
export class TooLargeError extends AppError {
  readonly runIds: readonly string[];

  constructor(runIds: readonly string[], message: string) {
    super("invalid", message);
    this.runIds = runIds;
  }
}

/** A running consumer. */
export interface Consumer {
  /** Takes no more messages; resolves when the running handlers have ended. */
  drain(): Promise<void>;
}

/**
 * A handler may answer once, and may go on working afterwards. It gets a few questions of each
 * location at a time; those whose askers no longer wait are dropped.
 */
export type QuestionHandler<Q, A> = (question: Q, answer: (content: A) => void) => Promise<void>;

/** The sooner it answers after reading `now`, the more accurate the agent's time. */
export type HeartbeatHandler = QuestionHandler<Heartbeat, HeartbeatAnswer>;

export type CredentialsHandler = QuestionHandler<CredentialsRequest, CallCredentials>;

export interface BusStatus {
  readonly connected: boolean;
  /** For the operator: the bus's address, and the fault while it is not connected. */
  readonly detail: string;
  /** A fault of a bus that is connected, with advice. */
  readonly degraded?: string;
}

/** The unacknowledged messages of one stream: waiting, or held by a consumer. */
export interface BusBacklog {
  readonly stream: "ticks" | "results";
  /** Only locations that have any. */
  readonly at: readonly BacklogAt[];
  /** For a stream on a server. */
  readonly bytes?: number;
  readonly maxBytes?: number;
}

export interface BacklogAt {
  readonly location_id: string;
  readonly messages: number;
  /**
   * Age of the oldest message; for ticks, of the oldest not yet delivered, since agents hold those
   * of long workflows. 0 if there is none.
   */
  readonly oldestAgeMs: number;
}

/** The connection to the bus's server. */
export interface BusConnection {
  readonly isUp: boolean;
  readonly reconnects: number;
  /**
   * Measured every 15 s; undefined before the first measurement, and more than a minute after the
   * last.
   */
  readonly roundTripMs: number | undefined;
}

/**
 * Delivery is at least once, in no order; ticks are delivered per location. A message is
 * acknowledged when its handler resolves. It is redelivered, to any consumer, when the handler
 * rejects (after 100 ms, doubling with each attempt, at most 5 s) or its process is gone, but not
 * while the handler works, however long. A message that cannot be decoded is dropped, logged and
 * counted.
 */
export interface Bus {
  /** False when messages are lost with the process: publish them again after the next start. */
  readonly durable: boolean;

  /**
   * Resolves when the ticks, all of one location, are stored. Publishing the same ticks again
   * within `DEDUPLICATION_WINDOW_MS` stores nothing new. Rejects with `unavailable` when the bus
   * does not answer within 5 s or has no room (`isFull`), and with a `TooLargeError` when some fit
   * into no message; the others are then stored.
   */
  publishTicks(ticks: readonly Tick[]): Promise<void>;

  /** The consumers of a location share its messages and get no others. */
  consumeTicks(locationId: string, handler: TickHandler): Promise<Consumer>;

  /** Like `publishTicks`, for at most `MAX_REPORTS_PER_MESSAGE` reports of one location. */
  publishReports(reports: readonly RunReport[]): Promise<void>;

  /**
   * Passes reports on in batches, one transaction each. A batch gathers for 20 ms, or up to a
   * second under load, and holds at most `MAX_REPORTS_PER_BATCH`. Its messages are acknowledged
   * together. Consumers share the work.
   */
  consumeReports(handler: (reports: readonly RunReport[]) => Promise<void>): Promise<Consumer>;

  /**
   * Resolves once the reports that this process published would survive its end: at once on a
   * durable bus, otherwise when a handler has handled the last of them.
   */
  reportsSafe(): Promise<void>;

  /**
   * Resolves with the hub's answer, or with null when nobody answers within `ANSWER_MS`. Best
   * effort: a heartbeat without a consumer is lost.
   */
  sendHeartbeat(heartbeat: Heartbeat): Promise<HeartbeatAnswer | null>;
  /** Each heartbeat goes to one of the consumers. */
  consumeHeartbeats(handler: HeartbeatHandler): Promise<Consumer>;

  /** Asks as `sendHeartbeat` does: null when nobody answers within `ANSWER_MS`. */
  requestCredentials(request: CredentialsRequest): Promise<CallCredentials | null>;
  /** Each request goes to one of the consumers. */
  consumeCredentialsRequests(handler: CredentialsHandler): Promise<Consumer>;

  status(): BusStatus;

  /** For the hub only. Ages on a server run until `now`: the hub's time, in epoch milliseconds. */
  backlog(now: number): Promise<readonly BusBacklog[]>;

  /** Undefined without a server. */
  connection(): BusConnection | undefined;

  /** This process's IP address as the bus's server sees it; "" without a server. */
  seenAt(): string;

  /** `host:port` of the servers that the bus has announced, configured or not. */
  announcedServers(): readonly string[];

  /** Ends every consumer and the connection. */
  close(): Promise<void>;
}

/**
 * `started`: the handler calls it once all runs of the message have started. The message then takes
 * little of `MAX_UNDER_WAY`: a workflow may wait for hours between its calls.
 */
export type TickHandler = (ticks: readonly Tick[], started: () => void) => Promise<void>;

/** The part of the bus that an agent uses. */
export type AgentBus = Pick<
  Bus,
  | "consumeTicks"
  | "publishReports"
  | "sendHeartbeat"
  | "requestCredentials"
  | "status"
  | "connection"
  | "seenAt"
  | "close"
>;

/** Returns the location of the items; throws if they have several. */
export function locationOf(items: readonly { readonly location_id: string }[]): string {
  const [first = "", ...others] = new Set(items.map((item) => item.location_id));
  if (others.length > 0)
    throw new Error("items that are published together must be of one location");
  return checkLocationId(first);
}

export const DEDUPLICATION_WINDOW_MS = 120_000;

/** Identifies the message that holds these ticks: the same each time they are published. */
export const tickKey = (ticks: readonly Tick[]): string =>
  ticks.map(({ result_id }) => result_id).join("\n");

/**
 * Like `tickKey`. One agent's reports of a run are equal. Two agents' differ: one made the calls,
 * the other was too late.
 */
export const reportKey = (reports: readonly RunReport[]): string =>
  reports.map(({ run_id, agent_id }) => `${run_id} ${agent_id}`).join("\n");

/**
 * Messages that one consumer may hold at a time; ten started ones count as one. Agents hold ticks
 * until they are due.
 */
export const MAX_UNDER_WAY = 1000;

/** How much these messages count towards `MAX_UNDER_WAY`. */
export const loadOf = (messages: number, started: number): number => messages - 0.9 * started;

export const MAX_REPORTS_PER_MESSAGE = 1000;
/** Results of the same calls share pages of indexes and rows of statistics: larger is cheaper. */
export const MAX_REPORTS_PER_BATCH = 5000;
export const ANSWER_MS = 2000;

/**
 * Older messages are dropped: ticks are published at most 15 s ahead and are useless a minute after
 * they are due; reports outlast a long weekend.
 */
export const TICK_MAX_AGE_MS = 300_000;
export const REPORT_MAX_AGE_MS = 7 * DAY_MS;
