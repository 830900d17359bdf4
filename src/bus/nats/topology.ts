// Names the streams, consumers and subjects of Sonde in NATS, and creates missing consumers.
import { AckPolicy, DeliverPolicy, jetstreamManager } from "@nats-io/jetstream";
import type { ConsumerInfo, JetStreamManager } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import { unavailable } from "../../model/errors.ts";
import { retry, retryDelayMs } from "../../runtime/retry.ts";
import type { NatsLink } from "./connection.ts";
import { isConsumerDifferent, isForbidden, isNoResponders, textOf } from "./errors.ts";
import { probeStream } from "./probe.ts";

export const TICK_STREAM = "SONDE_TICKS";
export const REPORT_STREAM = "SONDE_RESULTS";

export const tickSubject = (locationId: string): string => `sonde.ticks.${locationId}`;
export const reportSubject = (locationId: string): string => `sonde.results.${locationId}`;
export const heartbeatSubject = (locationId: string): string => `sonde.heartbeats.${locationId}`;

export const credentialsSubject = (locationId: string): string => `sonde.credentials.${locationId}`;

// No location can have this id.
const PROBE_SUBJECTS = {
  [TICK_STREAM]: tickSubject("~"),
  [REPORT_STREAM]: reportSubject("~"),
} as const;

/** Every subject of Sonde ends in the location. */
export const locationOfSubject = (subject: string): string =>
  subject.slice(subject.lastIndexOf(".") + 1);

/** A location's agents receive replies under their own prefix, since replies carry ticks. */
export const inboxPrefix = (locationId: string): string => `sonde.inbox.${locationId}`;

export interface ConsumerSpec {
  readonly stream: keyof typeof PROBE_SUBJECTS;
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

/** What the hub needs to create streams and consumers. */
export interface JetStream {
  readonly manager: JetStreamManager;
  readonly streams: {
    /** Creates the streams that are missing. */
    ensure(): Promise<void>;
  };
  /** A message whose consumer is silent for this long is redelivered. */
  readonly ackWaitMs: number;
}

// Shared by all agents of a location, or by all aggregators.
const MAX_UNACKNOWLEDGED = 20_000;

const CREATE_WITHIN_MS = 2000;

/**
 * Creates the consumer if it is missing, and the streams too. Waits until its stream accepts
 * messages: nats-server 2.9 shows a stream that another process is still creating, and a consumer
 * created at that moment never sends its messages.
 */
export async function ensureConsumer(
  { manager, streams, ackWaitMs }: JetStream,
  spec: ConsumerSpec,
): Promise<ConsumerInfo> {
  const client = manager.jetstream();
  const attempt = async (): Promise<ConsumerInfo> => {
    try {
      await probeStream(client, PROBE_SUBJECTS[spec.stream]);
    } catch (cause) {
      if (isNoResponders(cause)) await streams.ensure();
      // A user that may not publish here cannot tell.
      if (!isForbidden(cause)) throw cause;
    }
    return addConsumer(manager, spec, ackWaitMs);
  };
  return retry(attempt, { withinMs: CREATE_WITHIN_MS, isRetryable: isNoResponders });
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

/**
 * Rejects with advice for the operator if the server has no JetStream or refuses this user. Does
 * not ask a cluster, which does not answer right after its start: creating the streams waits for
 * it.
 */
export async function openJetStream(
  link: NatsLink,
  { clustered }: { readonly clustered: boolean },
): Promise<JetStreamManager> {
  const options = { timeout: REQUEST_TIMEOUT_MS, checkAPI: !clustered };
  try {
    return await jetstreamManager(link.connection, options);
  } catch (cause) {
    if (isForbidden(cause)) throw forbidden(link, cause);
    throw unavailable(
      `NATS at ${link.addresses} does not offer JetStream (${textOf(cause)}): start nats-server with -js, or with a jetstream block in its configuration`,
      { cause },
    );
  }
}

/** At most 1 s, so retries within a few seconds use all of that time. */
export const shortDelayMs = (failures: number): number => Math.min(retryDelayMs(failures), 1000);

export const forbidden = (link: NatsLink, cause: unknown): Error =>
  unavailable(
    `NATS at ${link.addresses} refuses requests that this user needs (${textOf(cause)}): check the permissions of the user`,
    { cause },
  );
