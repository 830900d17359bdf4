// Asks whether a stream accepts messages, without storing one.
import { JetStreamApiError } from "@nats-io/jetstream";
import type { JetStreamClient } from "@nats-io/jetstream";

const NO_SUCH_STREAM = "SONDE_PROBE";

/**
 * Publishes a message that expects another stream, which the stream with the subject refuses:
 * https://docs.nats.io/nats-concepts/jetstream/headers. Rejects with a `NoRespondersError` while no
 * stream has the subject.
 */
export async function probeStream(client: JetStreamClient, subject: string): Promise<void> {
  try {
    await client.publish(subject, "", { expect: { streamName: NO_SUCH_STREAM }, retries: 1 });
  } catch (cause) {
    if (!(cause instanceof JetStreamApiError)) throw cause;
  }
}
