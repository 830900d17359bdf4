// The streams, consumers and subjects of Sonde in NATS, created where they are missing.
import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  RetentionPolicy,
  StorageType,
  jetstreamManager,
} from "@nats-io/jetstream";
import type { ConsumerInfo, JetStreamManager, StreamConfig } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import { unavailable } from "../../model/errors.ts";
import type { Clock } from "../../runtime/clock.ts";
import { retry, retryDelayMs } from "../../runtime/retry.ts";
import { DEDUPLICATION_WINDOW_MS, REPORT_MAX_AGE_MS, TICK_MAX_AGE_MS } from "../bus.ts";
import type { NatsLink } from "./connection.ts";
import {
  isConsumerDifferent,
  isForbidden,
  isNameInUse,
  isStreamMissing,
  textOf,
} from "./errors.ts";

const TICK_STREAM = "SONDE_TICKS";
const REPORT_STREAM = "SONDE_RESULTS";

export const tickSubject = (locationId: string): string => `sonde.ticks.${locationId}`;
export const reportSubject = (locationId: string): string => `sonde.results.${locationId}`;
export const heartbeatSubject = (locationId: string): string => `sonde.heartbeats.${locationId}`;

export const credentialsSubject = (locationId: string): string => `sonde.credentials.${locationId}`;

/** Every subject of Sonde ends in the location. */
export const locationOfSubject = (subject: string): string =>
  subject.slice(subject.lastIndexOf(".") + 1);

/** An agent receives answers under a prefix of its own, since answers carry ticks. */
export const inboxPrefix = (locationId: string): string => `sonde.inbox.${locationId}`;

/** The least permissions that a location's agents need. */
export const agentPermissions = (
  locationId: string,
): { readonly publish: string[]; readonly subscribe: string[] } => {
  const consumer = `${TICK_STREAM}.${locationId}`;
  return {
    publish: [
      reportSubject(locationId),
      heartbeatSubject(locationId),
      credentialsSubject(locationId),
      "$JS.API.INFO",
      `$JS.API.CONSUMER.CREATE.${consumer}.${tickSubject(locationId)}`,
      `$JS.API.CONSUMER.INFO.${consumer}`,
      `$JS.API.CONSUMER.MSG.NEXT.${consumer}`,
      `$JS.ACK.${consumer}.>`,
      `$JS.ACK.*.*.${consumer}.>`, // with a domain and an account, as later servers name it
    ],
    subscribe: [`${inboxPrefix(locationId)}.>`],
  };
};

export interface ConsumerSpec {
  readonly stream: string;
  readonly durable: string;
  readonly filter: string;
}

export const tickConsumer = (locationId: string): ConsumerSpec => ({
  stream: TICK_STREAM,
  durable: locationId,
  filter: tickSubject(locationId),
});

export const REPORT_CONSUMER: ConsumerSpec = {
  stream: REPORT_STREAM,
  durable: "aggregator",
  filter: reportSubject("*"),
};

export interface TopologyOptions {
  readonly manager: JetStreamManager;
  /** The servers form a cluster: three of them keep each message. */
  readonly clustered: boolean;
  /** Without a sign of life for this long, a message is redelivered. */
  readonly ackWaitMs: number;
}

// For all consumers of a location, or all aggregators, together.
const MAX_UNACKNOWLEDGED = 20_000;
const REPLICAS_IN_CLUSTER = 3;

export type Topology = ReturnType<typeof createTopology>;

export function createTopology({ manager, clustered, ackWaitMs }: TopologyOptions) {
  let ensuring: Promise<void> | undefined;

  /** Leaves existing streams as they are: an operator may have given them limits or replicas. */
  const ensureStreams = (): Promise<void> =>
    (ensuring ??= Promise.all([
      ensureStream(TICK_STREAM, tickSubject("*"), TICK_MAX_AGE_MS),
      ensureStream(REPORT_STREAM, reportSubject("*"), REPORT_MAX_AGE_MS),
    ])
      .then(() => undefined)
      .finally(() => (ensuring = undefined)));

  async function ensureStream(name: string, subject: string, maxAgeMs: number): Promise<void> {
    try {
      await manager.streams.info(name);
    } catch (cause) {
      if (!isStreamMissing(cause)) throw cause;
      await addStream(manager, {
        name,
        subjects: [subject],
        retention: RetentionPolicy.Workqueue,
        storage: StorageType.File,
        discard: DiscardPolicy.Old,
        max_age: nanos(maxAgeMs),
        duplicate_window: nanos(DEDUPLICATION_WINDOW_MS),
        num_replicas: clustered ? REPLICAS_IN_CLUSTER : 1,
      });
    }
  }

  return {
    ensureStreams,
    /** Creates the streams too when they are missing. */
    async ensureConsumer(spec: ConsumerSpec): Promise<ConsumerInfo> {
      try {
        return await addConsumer(manager, spec, ackWaitMs);
      } catch (cause) {
        if (!isStreamMissing(cause)) throw cause;
        await ensureStreams();
        return addConsumer(manager, spec, ackWaitMs);
      }
    },
  };
}

async function addStream(
  manager: JetStreamManager,
  config: Partial<StreamConfig> & { readonly name: string },
): Promise<void> {
  try {
    await manager.streams.add(config);
  } catch (cause) {
    if (!isNameInUse(cause)) throw cause; // another process was faster
  }
}

async function addConsumer(
  manager: JetStreamManager,
  { stream, durable, filter }: ConsumerSpec,
  ackWaitMs: number,
): Promise<ConsumerInfo> {
  const config = {
    durable_name: durable,
    filter_subject: filter,
    deliver_policy: DeliverPolicy.All,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ackWaitMs),
    max_ack_pending: MAX_UNACKNOWLEDGED,
  };
  try {
    return await manager.consumers.add(stream, config);
  } catch (cause) {
    if (!isConsumerDifferent(cause)) throw cause;
    return manager.consumers.update(stream, durable, config);
  }
}

const REQUEST_TIMEOUT_MS = 2000;

/** Rejects with advice for the operator when NATS has no JetStream, or refuses this user. */
export async function openJetStream(link: NatsLink): Promise<JetStreamManager> {
  try {
    return await jetstreamManager(link.connection, { timeout: REQUEST_TIMEOUT_MS });
  } catch (cause) {
    if (isForbidden(cause)) throw forbidden(link, cause);
    throw unavailable(
      `NATS at ${link.addresses} does not offer JetStream (${textOf(cause)}): start nats-server with -js, or with a jetstream block in its configuration`,
      { cause },
    );
  }
}

/** At most 1 s, so that attempts go on until the end of a few seconds' patience. */
export const shortDelayMs = (failures: number): number => Math.min(retryDelayMs(failures), 1000);

const START_PATIENCE_MS = 10_000;

/**
 * Retries for 10 s: a cluster that starts at the same time needs a moment to find its servers and
 * elect a leader. Rejects with advice for the operator.
 */
export async function createStreams(link: NatsLink, topology: Topology, clock: Clock) {
  try {
    await retry(topology.ensureStreams, {
      clock,
      delayMs: shortDelayMs,
      withinMs: START_PATIENCE_MS,
      isRetryable: (cause) => !isForbidden(cause),
    });
  } catch (cause) {
    if (isForbidden(cause)) throw forbidden(link, cause);
    throw unavailable(
      `NATS at ${link.addresses} did not create the streams of Sonde (${textOf(cause)}): check the limits of its JetStream, and that a cluster has three servers`,
      { cause },
    );
  }
}

const forbidden = (link: NatsLink, cause: unknown): Error =>
  unavailable(
    `NATS at ${link.addresses} refuses requests that this user needs (${textOf(cause)}): check the permissions of the user`,
    { cause },
  );
