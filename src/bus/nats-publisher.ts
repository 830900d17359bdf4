// Stores messages in a stream: once each, however often the request for it has to be repeated.
import { setTimeout as delay } from "node:timers/promises";
import type { JetStreamClient } from "@nats-io/jetstream";
import type { Clock } from "../runtime/clock.ts";
import { unavailable } from "../model/errors.ts";
import { redeliveryDelayMs, TooLargeError } from "./bus.ts";
import type { Encoded, EncodedMessage } from "./codec.ts";
import type { NatsLink } from "./nats-connection.ts";
import { isForbidden, isNoResponders, isOverMaximum } from "./nats-topology.ts";
import type { Topology } from "./nats-topology.ts";

export interface PublisherOptions {
  readonly link: NatsLink;
  readonly client: JetStreamClient;
  readonly topology: Topology;
  readonly clock: Clock;
}

export interface Publisher {
  /** Resolves when all are stored. Rejects with `unavailable` after 5 s, with a `TooLargeError` for what is too large. */
  publish<T>(
    subject: string,
    items: readonly T[],
    encode: Encoder<T>,
  ): Promise<void>;
}

type Encoder<T> = (items: readonly T[], maxBytes: number) => Encoded<T>;

const PUBLISH_TIMEOUT_MS = 5000;
// Asking again is harmless: the message keeps its id.
const ATTEMPT_TIMEOUT_MS = 2000;
const DEFAULT_MAX_PAYLOAD = 1024 * 1024;
// The server counts the headers as part of the message.
const HEADER_BYTES = 1024;

export function createPublisher(options: PublisherOptions): Publisher {
  const { link, client, topology, clock } = options;
  /** The largest message that the server takes. */
  const maxBytes = (): number =>
    (link.connection.info?.max_payload ?? DEFAULT_MAX_PAYLOAD) - HEADER_BYTES;

  /** Returns the runs that are too large. What a stream takes at most, an agent may not ask: it is found out. */
  async function store<T>(
    subject: string,
    items: readonly T[],
    encode: Encoder<T>,
  ): Promise<readonly string[]> {
    const { messages, tooLarge } = encode(items, maxBytes());
    const refused = await Promise.all(
      messages.map(async (message) => {
        if (await publishOne(subject, message)) return [];
        const { items: held } = message;
        if (held.length === 1) return encode(held, 0).tooLarge;
        const half = Math.ceil(held.length / 2);
        return [
          ...(await store(subject, held.slice(0, half), encode)),
          ...(await store(subject, held.slice(half), encode)),
        ];
      }),
    );
    return [...tooLarge, ...refused.flat()];
  }

  /** False where it is larger than the stream takes. */
  async function publishOne(
    subject: string,
    message: EncodedMessage,
  ): Promise<boolean> {
    const deadline = clock.monotonic() + PUBLISH_TIMEOUT_MS;
    let failure: unknown;
    for (let attempt = 1; ; attempt += 1) {
      const left = Math.ceil(deadline - clock.monotonic());
      if (left <= 0 || link.connection.isClosed()) throw notStored(failure);
      if (!(await link.isUpWithin(left))) continue;
      try {
        await request(subject, message, Math.min(left, ATTEMPT_TIMEOUT_MS));
        return true;
      } catch (cause) {
        if (isOverMaximum(cause)) return false;
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
    async publish(subject, items, encode) {
      const tooLarge = await store(subject, items, encode);
      if (tooLarge.length > 0)
        throw new TooLargeError(
          tooLarge,
          `too large for NATS, which takes ${maxBytes()} bytes, or fewer where a stream has a max_msg_size (raise that, or max_payload in its configuration): ${tooLarge.join(", ")}`,
        );
    },
  };
}
