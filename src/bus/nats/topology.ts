// The streams, consumers and subjects of Sonde in NATS, made where they are missing.
import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  RetentionPolicy,
  StorageType,
} from "@nats-io/jetstream";
import type { ConsumerInfo, JetStreamManager, StreamConfig } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import { DEDUPLICATION_WINDOW_MS, REPORT_MAX_AGE_MS, TICK_MAX_AGE_MS } from "../bus.ts";
import { isConsumerDifferent, isNameInUse, isStreamMissing } from "./errors.ts";

const TICK_STREAM = "SONDE_TICKS";
const REPORT_STREAM = "SONDE_RESULTS";

export const tickSubject = (locationId: string): string => `sonde.ticks.${locationId}`;
export const reportSubject = (locationId: string): string => `sonde.results.${locationId}`;
export const heartbeatSubject = (locationId: string): string => `sonde.heartbeats.${locationId}`;

/** Those who take heartbeats share them. */
export const HEARTBEAT_QUEUE = "aggregator";

/** Every subject of ours ends in the location. */
export const locationOfSubject = (subject: string): string =>
  subject.slice(subject.lastIndexOf(".") + 1);

/** Where an agent receives answers: a prefix of its own, since answers carry ticks. */
export const inboxPrefix = (locationId: string): string => `sonde.inbox.${locationId}`;

/** What the credential of a location's agents has to allow, and all that it should. */
export const agentPermissions = (
  locationId: string,
): { readonly publish: string[]; readonly subscribe: string[] } => {
  const consumer = `${TICK_STREAM}.${locationId}`;
  return {
    publish: [
      reportSubject(locationId),
      heartbeatSubject(locationId),
      "$JS.API.INFO",
      `$JS.API.CONSUMER.CREATE.${consumer}.${tickSubject(locationId)}`,
      `$JS.API.CONSUMER.INFO.${consumer}`,
      `$JS.API.CONSUMER.MSG.NEXT.${consumer}`,
      `$JS.ACK.${consumer}.>`,
      `$JS.ACK.*.*.${consumer}.>`, // as later servers name it, with a domain and an account
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

export interface Topology {
  /**
   * Leaves streams as they are where they exist: an operator may have given them limits or
   * replicas.
   */
  ensureStreams(): Promise<void>;
  /** Makes the streams too when they are missing. */
  ensureConsumer(spec: ConsumerSpec): Promise<ConsumerInfo>;
}

export interface TopologyOptions {
  readonly manager: JetStreamManager;
  /** The servers form a cluster: messages are kept on three of them. */
  readonly clustered: boolean;
  /** Without a sign of life for this long, a message is delivered again. */
  readonly ackWaitMs: number;
}

// Of all consumers of a location, or of all aggregators, together.
const MAX_UNACKNOWLEDGED = 20_000;
const REPLICAS_IN_CLUSTER = 3;

export function createTopology({ manager, clustered, ackWaitMs }: TopologyOptions): Topology {
  let ensuring: Promise<void> | undefined;

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
    async ensureConsumer(spec) {
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
