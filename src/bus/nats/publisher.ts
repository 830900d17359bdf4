// Publishes items to a stream, in messages of a size that the server and the stream accept.
import type { JetStreamClient } from "@nats-io/jetstream";
import { headers } from "@nats-io/transport-node";
import { unavailable } from "../../model/errors.ts";
import type { Clock } from "../../runtime/clock.ts";
import { retry } from "../../runtime/retry.ts";
import { TooLargeError } from "../bus.ts";
import type { Encoded, EncodedMessage } from "./codec.ts";
import type { NatsLink } from "./connection.ts";
import { isForbidden, isNoResponders, isNoRoom, isOverMaximum, textOf } from "./errors.ts";
import type { Room, StreamContent } from "./room.ts";
import { shortDelayMs } from "./topology.ts";
import type { StreamAccess } from "./stream-access.ts";

export interface Publisher {
  readonly link: NatsLink;
  readonly client: JetStreamClient;
  readonly access: Pick<StreamAccess, "ensureStreams">;
  readonly clock: Clock;
  readonly room: Room;
}

/** Where messages go. */
export interface Destination {
  readonly subject: string;
  readonly content: StreamContent;
}

type Encoder<T> = (items: readonly T[], maxBytes: number) => Encoded<T>;

const DEFAULT_MAX_PAYLOAD = 1024 * 1024;
// The server counts the headers as part of the message.
const HEADER_BYTES = 1024;

/**
 * Resolves when all items are stored. Rejects with `unavailable` within 5 s, at once when there is
 * no room (`isFull`), and with a `TooLargeError` for items that are too large.
 */
export async function publish<T>(
  publisher: Publisher,
  destination: Destination,
  items: readonly T[],
  encode: Encoder<T>,
): Promise<void> {
  const maxPayload = publisher.link.connection.info?.max_payload ?? DEFAULT_MAX_PAYLOAD;
  const maxBytes = maxPayload - HEADER_BYTES;
  const tooLarge = await store(publisher, destination, items, (some) => encode(some, maxBytes));
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
  destination: Destination,
  items: readonly T[],
  encode: (items: readonly T[]) => Encoded<T>,
): Promise<readonly string[]> {
  const { messages, tooLarge } = encode(items);
  const refused = await Promise.all(
    messages.map(async (message) => {
      if (await storeMessage(publisher, destination, message)) return [];
      const { items: held, runIds } = message;
      if (held.length === 1) return runIds;
      const half = Math.ceil(held.length / 2);
      return [
        ...(await store(publisher, destination, held.slice(0, half), encode)),
        ...(await store(publisher, destination, held.slice(half), encode)),
      ];
    }),
  );
  return [...tooLarge, ...refused.flat()];
}

const PUBLISH_TIMEOUT_MS = 5000;
const ATTEMPT_TIMEOUT_MS = 2000;

/**
 * False when the message is larger than the stream takes. Repeats the request until the message is
 * stored, which is harmless because the message keeps its id; rejects with `unavailable` after 5 s,
 * and at once when there is no room.
 */
export async function storeMessage(
  { link, client, access, clock, room }: Publisher,
  { subject, content }: Destination,
  message: EncodedMessage,
): Promise<boolean> {
  const attempt = async (leftMs: number): Promise<boolean> => {
    if (!(await link.isUpWithin(leftMs))) throw new Error("no connection");
    const timeout = Math.max(1, Math.min(Math.ceil(leftMs), ATTEMPT_TIMEOUT_MS));
    try {
      const options = { msgID: message.id, headers: padding(subject, message), timeout };
      await orReconnect(link, client.publish(subject, message.data, options));
      room.store(content);
      return true;
    } catch (cause) {
      if (isOverMaximum(cause)) return false;
      if (isNoResponders(cause)) await access.ensureStreams();
      throw cause;
    }
  };
  try {
    return await retry(attempt, {
      clock,
      delayMs: shortDelayMs,
      withinMs: PUBLISH_TIMEOUT_MS,
      isRetryable: (cause) =>
        !isForbidden(cause) && !isNoRoom(cause) && !link.connection.isClosed(),
    });
  } catch (cause) {
    const reason = link.fault() ?? textOf(cause);
    const full = isNoRoom(cause);
    if (full) room.refuse(content, reason);
    throw unavailable(`NATS at ${link.addresses} did not store a message (${reason})`, {
      part: "the bus",
      full,
      cause,
    });
  }
}

const PADDING = "Sonde-Padding";
const HEADERS = `NATS/1.0\r\nNats-Msg-Id: \r\n${PADDING}: \r\n\r\n`;
/** What nats-server adds to a message with headers in a file, beside its subject. */
const RECORD_BYTES = 34;
const BLOCK_BYTES = 256;

/**
 * Makes the message's record on the server's disk whole blocks long. Before version 2.10.5, the
 * server compares a message without `RECORD_BYTES` and subject with the room in a full stream, and
 * drops the oldest message if then the record does not fit. Limits are whole blocks, and a block is
 * longer than what it forgets: what fits without that fits with it.
 */
function padding(subject: string, { id, data }: EncodedMessage) {
  const bytes = RECORD_BYTES + subject.length + HEADERS.length + id.length + data.length;
  const padded = headers();
  padded.set(PADDING, "-".repeat(BLOCK_BYTES - (bytes % BLOCK_BYTES)));
  return padded;
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
