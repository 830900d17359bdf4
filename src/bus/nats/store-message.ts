// One message into its stream: stored once, however often the request for it has to be repeated.
import { setTimeout as delay } from "node:timers/promises";
import type { JetStreamClient } from "@nats-io/jetstream";
import type { Clock } from "../../runtime/clock.ts";
import { unavailable } from "../../model/errors.ts";
import { redeliveryDelayMs } from "../bus.ts";
import type { EncodedMessage } from "../codec.ts";
import type { NatsLink } from "./connection.ts";
import { isForbidden, isNoResponders, isOverMaximum } from "./errors.ts";
import type { Topology } from "./topology.ts";

export interface StoreOptions {
  readonly link: NatsLink;
  readonly client: JetStreamClient;
  readonly topology: Topology;
  readonly clock: Clock;
}

const PUBLISH_TIMEOUT_MS = 5000;
// Asking again is harmless: the message keeps its id.
const ATTEMPT_TIMEOUT_MS = 2000;

/** False where it is larger than the stream takes. Rejects with `unavailable` after 5 s. */
export async function storeMessage(
  options: StoreOptions,
  subject: string,
  message: EncodedMessage,
): Promise<boolean> {
  const { link, topology, clock } = options;
  const deadline = clock.monotonic() + PUBLISH_TIMEOUT_MS;
  let failure: unknown;
  for (let attempt = 1; ; attempt += 1) {
    const left = Math.ceil(deadline - clock.monotonic());
    if (left <= 0 || link.connection.isClosed()) throw notStored(link, failure);
    if (!(await link.isUpWithin(left))) continue;
    try {
      const timeout = Math.min(left, ATTEMPT_TIMEOUT_MS);
      await request(options, subject, message, timeout);
      return true;
    } catch (cause) {
      if (isOverMaximum(cause)) return false;
      failure = await recover(topology, cause);
      if (isForbidden(failure)) throw notStored(link, failure);
    }
    await delay(redeliveryDelayMs(attempt));
  }
}

async function request(
  { link, client }: StoreOptions,
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
async function recover(topology: Topology, cause: unknown): Promise<unknown> {
  if (!isNoResponders(cause)) return cause;
  try {
    await topology.ensureStreams();
    return undefined;
  } catch (failure) {
    return failure;
  }
}

function notStored(link: NatsLink, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : "no answer";
  return unavailable(
    `NATS at ${link.addresses} did not store a message (${link.fault() ?? reason})`,
    { part: "the bus", cause },
  );
}
