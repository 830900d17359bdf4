// Publishes items to a stream, sealed, in messages of a size that the server and the stream accept.
import type { JetStreamClient } from "@nats-io/jetstream";
import { headers } from "@nats-io/transport-node";
import { halvesOf } from "../../model/chunks.ts";
import { unavailable } from "../../model/errors.ts";
import type { Clock } from "../../runtime/clock.ts";
import { retry } from "../../runtime/retry.ts";
import { locationOf, TooLargeError } from "../bus.ts";
import type { ItemKind } from "../delivery.ts";
import { encode } from "./codec.ts";
import type { Items } from "./codec.ts";
import type { NatsLink } from "./connection.ts";
import { isForbidden, isNoResponders, isNoRoom, isOverMaximum, textOf } from "./errors.ts";
import { shortDelayMs } from "./jetstream.ts";
import type { Room } from "./room.ts";
import { placeOf, sealMessage } from "./sealing.ts";
import type { SealedMessage, SealerOf } from "./sealing.ts";
import type { StreamAccess } from "./stream-access.ts";
import { reportSubject, tickSubject } from "./topology.ts";

export interface Publisher {
  readonly link: NatsLink;
  readonly client: JetStreamClient;
  readonly access: Pick<StreamAccess, "ensureStreams">;
  readonly clock: Clock;
  readonly room: Room;
  readonly sealerOf: SealerOf;
}

/** Where messages go. */
export interface Destination {
  readonly subject: string;
  readonly kind: ItemKind;
}

const SUBJECTS = { ticks: tickSubject, reports: reportSubject } as const;

const DEFAULT_MAX_PAYLOAD = 1024 * 1024;
// A message's overhead: headers, which the server counts, and the seal.
const ENVELOPE_BYTES = 1024;

/**
 * Resolves when all items, of one location, are stored. Rejects with `unavailable` within 5 s (at
 * once if there is no room, `isFull`), and with a `TooLargeError` if items are too large.
 */
export async function publish<T extends { readonly location_id: string }>(
  publisher: Publisher,
  spec: Items<T>,
  items: readonly T[],
): Promise<void> {
  if (items.length === 0) return;
  const { kind } = spec;
  const locationId = locationOf(items);
  const [sealer, place] = [publisher.sealerOf(locationId), placeOf(kind, locationId)];
  const maxPayload = publisher.link.connection.info?.max_payload ?? DEFAULT_MAX_PAYLOAD;
  const maxBytes = maxPayload - ENVELOPE_BYTES;
  const destination = { subject: SUBJECTS[kind](locationId), kind };
  /**
   * Stores the items; returns the ids of runs that are too large. An agent may not read a stream's
   * `max_msg_size`, so this halves refused messages until it finds the items that do not fit.
   */
  const store = async (some: readonly T[]): Promise<readonly string[]> => {
    const { messages, tooLarge } = encode(spec, some, maxBytes);
    const refused = await Promise.all(
      messages.map(async (message) => {
        const sealed = sealMessage(sealer, place, message);
        if (await storeMessage(publisher, destination, sealed)) return [];
        const { items: held, runIds } = message;
        if (held.length === 1) return runIds;
        const large: string[] = [];
        for (const half of halvesOf(held)) large.push(...(await store(half)));
        return large;
      }),
    );
    return [...tooLarge, ...refused.flat()];
  };
  const tooLarge = await store(items);
  if (tooLarge.length > 0)
    throw new TooLargeError(
      tooLarge,
      `too large for NATS, which takes ${maxBytes} bytes, or fewer where a stream has a max_msg_size (raise that, or max_payload in its configuration): ${tooLarge.join(", ")}`,
    );
}

const PUBLISH_TIMEOUT_MS = 5000;
const ATTEMPT_TIMEOUT_MS = 2000;

/**
 * Resolves with false if the message is too large for the stream. Retries until it is stored:
 * harmless, because the message keeps its id. Rejects with `unavailable` after 5 s, and at once if
 * there is no room.
 */
export async function storeMessage(
  { link, client, access, clock, room }: Omit<Publisher, "sealerOf">,
  { subject, kind }: Destination,
  message: SealedMessage,
): Promise<boolean> {
  const attempt = async (leftMs: number): Promise<boolean> => {
    if (!(await link.isUpWithin(leftMs))) throw new Error("no connection");
    const timeout = Math.max(1, Math.min(Math.ceil(leftMs), ATTEMPT_TIMEOUT_MS));
    try {
      const options = { msgID: message.id, headers: padding(subject, message), timeout };
      await orReconnect(link, client.publish(subject, message.data, options));
      room.stored(kind);
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
    if (full) room.refused(kind, cause);
    throw unavailable(`NATS at ${link.addresses} did not store a message (${reason})`, {
      part: "the bus",
      full,
      cause,
    });
  }
}

const PADDING = "Sonde-Padding";
const HEADERS = `NATS/1.0\r\nNats-Msg-Id: \r\n${PADDING}: \r\n\r\n`;
/** Bytes that nats-server adds on disk to a message with headers, besides its subject. */
const RECORD_BYTES = 34;
const BLOCK_BYTES = 256;

/**
 * Pads the message to whole blocks on the server's disk. Before version 2.10.5, the server ignores
 * `RECORD_BYTES` and the subject when it compares a message with the room in a full stream, then
 * drops the oldest message if the record does not fit. Limits are whole blocks, and a block is
 * longer than what the server ignores, so a message that passes the comparison fits.
 */
function padding(subject: string, { id, data }: SealedMessage) {
  const bytes = RECORD_BYTES + subject.length + HEADERS.length + id.length + data.length;
  const padded = headers();
  padded.set(PADDING, "-".repeat(BLOCK_BYTES - (bytes % BLOCK_BYTES)));
  return padded;
}

/** Waits for the answer; rejects at a reconnection: after it, the answer never arrives. */
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
