// What must be true of NATS before the bus starts: JetStream is there, and so are the streams.
import { setTimeout as delay } from "node:timers/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import type { JetStreamManager } from "@nats-io/jetstream";
import type { Clock } from "../../runtime/clock.ts";
import { unavailable } from "../../model/errors.ts";
import { redeliveryDelayMs } from "../bus.ts";
import type { NatsLink } from "./connection.ts";
import { isForbidden, textOf } from "./errors.ts";
import type { Topology } from "./topology.ts";

const REQUEST_TIMEOUT_MS = 2000;
const START_PATIENCE_MS = 10_000;

export async function openJetStream(link: NatsLink): Promise<JetStreamManager> {
  try {
    const timeout = REQUEST_TIMEOUT_MS;
    return await jetstreamManager(link.connection, { timeout });
  } catch (cause) {
    if (isForbidden(cause)) throw forbidden(link, cause);
    throw unavailable(
      `NATS at ${link.addresses} does not offer JetStream (${textOf(cause)}): start nats-server with -js, or with a jetstream block in its configuration`,
      { cause },
    );
  }
}

/** A cluster that starts at the same time needs a moment to find its servers and a leader. */
export async function makeStreams(link: NatsLink, topology: Topology, clock: Clock): Promise<void> {
  const deadline = clock.monotonic() + START_PATIENCE_MS;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await topology.ensureStreams();
      return;
    } catch (cause) {
      if (isForbidden(cause)) throw forbidden(link, cause);
      if (clock.monotonic() > deadline)
        throw unavailable(
          `NATS at ${link.addresses} did not make the streams of Sonde (${textOf(cause)}): check the limits of its JetStream, and that a cluster has three servers`,
          { cause },
        );
      await delay(redeliveryDelayMs(attempt));
    }
  }
}

const forbidden = (link: NatsLink, cause: unknown): Error =>
  unavailable(
    `NATS at ${link.addresses} does not allow this user what it needs (${textOf(cause)}): check the permissions of the user`,
    { cause },
  );
