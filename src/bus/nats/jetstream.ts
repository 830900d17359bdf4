// Opens JetStream, and turns its refusals into advice for the operator.
import { jetstreamManager } from "@nats-io/jetstream";
import type { JetStreamManager } from "@nats-io/jetstream";
import { unavailable } from "../../model/errors.ts";
import type { Clock } from "../../runtime/clock.ts";
import { retry, retryDelayMs } from "../../runtime/retry.ts";
import type { NatsLink } from "./connection.ts";
import { isForbidden, isTimeout, textOf } from "./errors.ts";

const REQUEST_TIMEOUT_MS = 2000;

/** At most 1 s, so retries within a few seconds use all of that time. */
export const shortDelayMs = (failures: number): number => Math.min(retryDelayMs(failures), 1000);

/** The patience of a process that starts. */
export const START_RETRIES = { delayMs: shortDelayMs, withinMs: 10_000 } as const;

/**
 * Rejects with advice for the operator if the server has no JetStream, refuses this user, or does
 * not answer within 2 s. Does not ask a cluster, which does not answer right after its start:
 * creating the streams waits for it.
 */
export async function openJetStream(link: NatsLink): Promise<JetStreamManager> {
  const options = { timeout: REQUEST_TIMEOUT_MS, checkAPI: !link.clustered };
  try {
    return await jetstreamManager(link.connection, options);
  } catch (cause) {
    if (isForbidden(cause)) throw forbidden(link, cause);
    if (isTimeout(cause))
      throw unavailable(
        `JetStream of NATS at ${link.addresses} does not answer: look at the log and the load of nats-server`,
        { cause },
      );
    const said = textOf(cause);
    const advice = said.includes("for account")
      ? "enable it for the account of this user, as `sonde locations nats-config` does, or by storage limits in its JWT"
      : "start nats-server with -js, or with a jetstream block in its configuration";
    throw unavailable(`NATS at ${link.addresses} does not offer JetStream (${said}): ${advice}`, {
      cause,
    });
  }
}

/** Like `openJetStream`, but asks a server that does not answer again for 10 s: it may stall. */
export const awaitJetStream = (link: NatsLink, clock: Clock): Promise<JetStreamManager> =>
  retry(() => openJetStream(link), { clock, ...START_RETRIES, isRetryable: isTimeout });

export const forbidden = (link: NatsLink, cause: unknown): Error =>
  unavailable(
    `NATS at ${link.addresses} refuses requests that this user needs (${textOf(cause)}): check the permissions of the user`,
    { cause },
  );
