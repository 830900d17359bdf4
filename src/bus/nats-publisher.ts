// Stores messages in a stream: once each, however often the request for it has to be repeated.
import { setTimeout as delay } from "node:timers/promises";
import type { JetStreamClient } from "@nats-io/jetstream";
import type { Clock } from "../runtime/clock.ts";
import { unavailable } from "../model/errors.ts";
import { redeliveryDelayMs, TooLargeError } from "./bus.ts";
import type { Encoded, EncodedMessage } from "./codec.ts";
import type { NatsLink } from "./nats-connection.ts";
import { isForbidden, isNoResponders } from "./nats-topology.ts";
import type { Topology } from "./nats-topology.ts";

export interface PublisherOptions {
  readonly link: NatsLink;
  readonly client: JetStreamClient;
  readonly topology: Topology;
  readonly clock: Clock;
}

export interface Publisher {
  /** The largest message that the server takes, in bytes. */
  maxBytes(): number;
  /** Resolves when all are stored. Rejects with `unavailable` after 5 s, with a `TooLargeError` for what is too large. */
  publish(subject: string, encoded: Encoded): Promise<void>;
}

const PUBLISH_TIMEOUT_MS = 5000;
// Asking again is harmless: the message keeps its id.
const ATTEMPT_TIMEOUT_MS = 2000;
const DEFAULT_MAX_PAYLOAD = 1024 * 1024;
// The server counts the headers as part of the message.
const HEADER_BYTES = 1024;

export function createPublisher(options: PublisherOptions): Publisher {
  const { link, client, topology, clock } = options;
  const maxBytes = (): number =>
    (link.connection.info?.max_payload ?? DEFAULT_MAX_PAYLOAD) - HEADER_BYTES;

  async function publishOne(
    subject: string,
    message: EncodedMessage,
  ): Promise<void> {
    const deadline = clock.monotonic() + PUBLISH_TIMEOUT_MS;
    let failure: unknown;
    for (let attempt = 1; ; attempt += 1) {
      const left = Math.ceil(deadline - clock.monotonic());
      if (left <= 0 || link.connection.isClosed()) throw notStored(failure);
      if (!(await link.isUpWithin(left))) continue;
      try {
        await request(subject, message, Math.min(left, ATTEMPT_TIMEOUT_MS));
        return;
      } catch (cause) {
        failure = await recover(cause);
        if (isForbidden(failure)) throw notStored(failure);
      }
      await delay(redeliveryDelayMs(attempt));
    }
  }

  async function request(
    subject: string,
    { id, data }: EncodedMessage,
    timeout: number,
  ): Promise<void> {
    const lost = Promise.withResolvers<never>();
    // The answer to a request from before is not going to come.
    const ignoreReconnects = link.onReconnect(() =>
      lost.reject(new Error("the connection was lost")),
    );
    try {
      const stored = client.publish(subject, data, { msgID: id, timeout });
      await Promise.race([stored, lost.promise]);
    } finally {
      ignoreReconnects();
    }
  }

  /** What still stands in the way. */
  async function recover(cause: unknown): Promise<unknown> {
    if (!isNoResponders(cause)) return cause;
    try {
      await topology.ensureStreams();
      return undefined;
    } catch (failure) {
      return failure;
    }
  }

  const notStored = (cause: unknown): Error => {
    const reason = cause instanceof Error ? cause.message : "no answer";
    return unavailable(
      `NATS at ${link.addresses} did not store a message (${link.fault() ?? reason})`,
      { cause },
    );
  };

  return {
    maxBytes,
    async publish(subject, { messages, tooLarge }) {
      await Promise.all(
        messages.map((message) => publishOne(subject, message)),
      );
      if (tooLarge.length > 0)
        throw new TooLargeError(
          tooLarge,
          `too large for NATS, which takes ${maxBytes()} bytes (raise max_payload in its configuration): ${tooLarge.join(", ")}`,
        );
    },
  };
}
