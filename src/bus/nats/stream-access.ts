// Access to streams and consumers: the hub creates them; an agent may only find its location's
// consumer.
import { jetstreamManager } from "@nats-io/jetstream";
import type { Consumer, JetStreamClient } from "@nats-io/jetstream";
import type { Clock } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";
import { LOCATION_API } from "./accounts.ts";
import type { NatsLink } from "./connection.ts";
import { ensureConsumer } from "./durable-consumers.ts";
import type { JetStream } from "./durable-consumers.ts";
import { isConsumerMissing, isNoResponders, isStreamMissing, textOf } from "./errors.ts";
import { tickConsumer } from "./topology.ts";
import type { ConsumerSpec } from "./topology.ts";

export interface StreamAccess {
  /** Creates missing streams, if this process may. */
  ensureStreams(): Promise<void>;
  /** Rejects while the consumer is missing and this process may not create it. */
  openConsumer(spec: ConsumerSpec): Promise<Consumer>;
  /**
   * Creates the consumer of a location's ticks in the background if it is missing, unless this
   * process may not or has looked lately.
   */
  keepTickConsumer(locationId: string): void;
}

export interface HubAccessOptions {
  readonly link: NatsLink;
  readonly client: JetStreamClient;
  readonly jetStream: JetStream;
  readonly clock: Clock;
  readonly log: Logger;
}

const LOOK_AGAIN_MS = 30_000;

export function createHubAccess(options: HubAccessOptions): StreamAccess {
  const { link, client, jetStream, clock, log } = options;
  const lookedAt = new Map<string, number>();
  // The server may have come back without the consumers.
  link.onReconnect(() => lookedAt.clear());
  /** Every location may fail for the same reason, at each heartbeat: it is logged once. */
  let logged: string | undefined;

  async function makeTickConsumer(locationId: string): Promise<void> {
    try {
      await ensureConsumer(jetStream, tickConsumer(locationId));
      logged = undefined;
    } catch (err) {
      lookedAt.delete(locationId);
      const reason = textOf(err);
      const isLogged = reason === logged || link.fault() !== undefined;
      if (!isLogged) logged = reason;
      log[isLogged ? "debug" : "warn"](
        { err, location_id: locationId },
        "cannot create the tick consumer of a location",
      );
    }
  }
  return {
    ensureStreams: async () => {
      await jetStream.streams.ensure();
      for (const locationId of lookedAt.keys()) void makeTickConsumer(locationId);
    },
    openConsumer: async (spec) =>
      client.consumers.getConsumerFromInfo(await ensureConsumer(jetStream, spec)),
    keepTickConsumer(locationId) {
      const now = clock.monotonic();
      if (now - (lookedAt.get(locationId) ?? -Infinity) < LOOK_AGAIN_MS) return;
      lookedAt.set(locationId, now);
      void makeTickConsumer(locationId);
    },
  };
}

/**
 * No fault: the hub creates the consumer at an agent's heartbeat, and may start after the agent.
 */
export class NotMadeError extends Error {
  override readonly name = "NotMadeError";
}

const OWN_API = "$JS.API";
const REQUEST_TIMEOUT_MS = 2000;

export const createAgentAccess = (link: NatsLink): StreamAccess => ({
  ensureStreams: async () => undefined,
  /**
   * Uses the prefix that the location's account gives the hub's API or, on a server without
   * accounts, the API's own.
   */
  async openConsumer(spec) {
    try {
      return await findConsumer(link, spec, LOCATION_API);
    } catch (cause) {
      if (!isNoResponders(cause)) throw cause;
      return findConsumer(link, spec, OWN_API);
    }
  },
  keepTickConsumer: () => undefined,
});

async function findConsumer(
  { connection }: NatsLink,
  { stream, durable }: ConsumerSpec,
  apiPrefix: string,
): Promise<Consumer> {
  const options = { apiPrefix, timeout: REQUEST_TIMEOUT_MS, checkAPI: false };
  const manager = await jetstreamManager(connection, options);
  try {
    const info = await manager.consumers.info(stream, durable);
    return manager.jetstream().consumers.getConsumerFromInfo(info);
  } catch (cause) {
    if (!isConsumerMissing(cause) && !isStreamMissing(cause)) throw cause;
    throw new NotMadeError("the hub has not created the tick consumer of this location yet", {
      cause,
    });
  }
}
