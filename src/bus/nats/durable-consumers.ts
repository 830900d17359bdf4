// Creates the durable consumers that are missing.
import { AckPolicy, DeliverPolicy } from "@nats-io/jetstream";
import type { ConsumerInfo, JetStreamManager } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import { retry } from "../../runtime/retry.ts";
import { isConsumerDifferent, isForbidden, isNoResponders } from "./errors.ts";
import { probeStream } from "./probe.ts";
import type { Streams } from "./streams.ts";
import { REPORT_STREAM, TICK_STREAM, reportSubject, tickSubject } from "./topology.ts";
import type { ConsumerSpec } from "./topology.ts";

/** What the hub needs to create streams and consumers. */
export interface JetStream {
  readonly manager: JetStreamManager;
  readonly streams: Pick<Streams, "ensure">;
  /** A message whose consumer is silent for this long is redelivered. */
  readonly ackWaitMs: number;
}

// No location can have this id.
const PROBE_SUBJECTS = {
  [TICK_STREAM]: tickSubject("~"),
  [REPORT_STREAM]: reportSubject("~"),
} as const;

// Shared by all agents of a location, or by all aggregators.
const MAX_UNACKNOWLEDGED = 200_000;

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
