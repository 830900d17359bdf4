// Publishes items to a stream, in messages of a size that the server and the stream accept.
import type { JetStreamClient } from "@nats-io/jetstream";
import { unavailable } from "../../model/errors.ts";
import type { Clock } from "../../runtime/clock.ts";
import { retry } from "../../runtime/retry.ts";
import { TooLargeError } from "../bus.ts";
import type { Encoded, EncodedMessage } from "./codec.ts";
import type { NatsLink } from "./connection.ts";
import { isForbidden, isNoResponders, isOverMaximum, textOf } from "./errors.ts";
import { shortDelayMs } from "./topology.ts";
import type { Topology } from "./topology.ts";

export interface Publisher {
  readonly link: NatsLink;
  readonly client: JetStreamClient;
  readonly topology: Topology;
  readonly clock: Clock;
}

type Encoder<T> = (items: readonly T[], maxBytes: number) => Encoded<T>;

const DEFAULT_MAX_PAYLOAD = 1024 * 1024;
// The server counts the headers as part of the message.
const HEADER_BYTES = 1024;

/**
 * Resolves when all items are stored. Rejects with `unavailable` within 5 s, and with a
 * `TooLargeError` for items that are too large.
 */
export async function publish<T>(
  publisher: Publisher,
  subject: string,
  items: readonly T[],
  encode: Encoder<T>,
): Promise<void> {
  const maxPayload = publisher.link.connection.info?.max_payload ?? DEFAULT_MAX_PAYLOAD;
  const maxBytes = maxPayload - HEADER_BYTES;
  const tooLarge = await store(publisher, subject, items, (some) => encode(some, maxBytes));
  if (tooLarge.length > 0)
    throw new TooLargeError(
      tooLarge,
      `too large for NATS, which takes ${maxBytes} bytes, or fewer where a stream has a max_msg_size (raise that, or max_payload in its configuration): ${tooLarge.join(", ")}`,
    );
}

/**
 * Returns the runs that are too large. An agent may not ask for the `max_msg_size` of a stream:
 * halving what the stream refuses finds the items that do not fit.
 */
async function store<T>(
  publisher: Publisher,
  subject: string,
  items: readonly T[],
  encode: (items: readonly T[]) => Encoded<T>,
): Promise<readonly string[]> {
  const { messages, tooLarge } = encode(items);
  const refused = await Promise.all(
    messages.map(async (message) => {
      if (await storeMessage(publisher, subject, message)) return [];
      const { items: held, runIds } = message;
      if (held.length === 1) return runIds;
      const half = Math.ceil(held.length / 2);
      return [
        ...(await store(publisher, subject, held.slice(0, half), encode)),
        ...(await store(publisher, subject, held.slice(half), encode)),
      ];
    }),
  );
  return [...tooLarge, ...refused.flat()];
}

const PUBLISH_TIMEOUT_MS = 5000;
const ATTEMPT_TIMEOUT_MS = 2000;

/**
 * False when the message is larger than the stream takes. Repeats the request until the message is
 * stored, which is harmless because the message keeps its id; rejects with `unavailable` after 5 s.
 */
export async function storeMessage(
  { link, client, topology, clock }: Publisher,
  subject: string,
  { id, data }: EncodedMessage,
): Promise<boolean> {
  const attempt = async (leftMs: number): Promise<boolean> => {
    if (!(await link.isUpWithin(leftMs))) throw new Error("no connection");
    const timeout = Math.max(1, Math.min(Math.ceil(leftMs), ATTEMPT_TIMEOUT_MS));
    try {
      await orReconnect(link, client.publish(subject, data, { msgID: id, timeout }));
      return true;
    } catch (cause) {
      if (isOverMaximum(cause)) return false;
      if (isNoResponders(cause)) await topology.ensureStreams();
      throw cause;
    }
  };
  try {
    return await retry(attempt, {
      clock,
      delayMs: shortDelayMs,
      withinMs: PUBLISH_TIMEOUT_MS,
      isRetryable: (cause) => !isForbidden(cause) && !link.connection.isClosed(),
    });
  } catch (cause) {
    const reason = link.fault() ?? textOf(cause);
    throw unavailable(`NATS at ${link.addresses} did not store a message (${reason})`, {
      part: "the bus",
      cause,
    });
  }
}

/** Rejects at a reconnection: the answer to an earlier request never arrives. */
async function orReconnect(link: NatsLink, answer: Promise<unknown>): Promise<void> {
  const lost = Promise.withResolvers<never>();
  const ignoreReconnects = link.onReconnect(() =>
    lost.reject(new Error("the connection was lost")),
  );
  try {
    await Promise.race([answer, lost.promise]);
  } finally {
    ignoreReconnects();
  }
}
