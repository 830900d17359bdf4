// Pulls the messages of a durable JetStream consumer, as many as it may hold, and recovers by
// itself.
import { setTimeout as delay } from "node:timers/promises";
import type { Consumer as JetStreamConsumer, ConsumerMessages } from "@nats-io/jetstream";
import type { Consumer } from "../bus.ts";
import { redeliveryDelayMs } from "../bus.ts";
import type { Receiver } from "../delivery.ts";
import type { NatsLink } from "./connection.ts";
import { createHeldMessages } from "./held-messages.ts";

export interface PullOptions {
  /** Makes the consumer on the server where it is missing. */
  readonly open: () => Promise<JetStreamConsumer>;
  readonly link: NatsLink;
  readonly receiver: Receiver;
  readonly ackWaitMs: number;
  /** Told what keeps messages from coming, and undefined when they can come again. */
  readonly onFault: (fault: unknown) => void;
}

/** Messages that one consumer may hold at a time; agents hold ticks until they are due. */
const MAX_UNDER_WAY = 1000;
// Asking for a handful whenever a handful is done would be one request per message.
const REFILL_BELOW = 750;

const PULL_MS = 30_000;
// A request that reached no leader of a cluster is noticed by the silence: after two to three of
// these.
const IDLE_HEARTBEAT_MS = 2000;

export function startPulling(options: PullOptions): Consumer {
  const { open, link, receiver, onFault } = options;
  const held = createHeldMessages(options);
  const stopped = new AbortController();
  let consumer: JetStreamConsumer | undefined;
  let pull: ConsumerMessages | undefined;
  let draining: Promise<void> | undefined;

  /**
   * One request to the server; ends when it is satisfied or over, rejects when the consumer is out
   * of reach.
   */
  async function pullOnce(consumer: JetStreamConsumer): Promise<void> {
    pull = await consumer.fetch({
      max_messages: MAX_UNDER_WAY - held.count(),
      expires: PULL_MS,
      idle_heartbeat: IDLE_HEARTBEAT_MS,
      bind: true, // the client's own recovery waits half a minute between attempts; ours is `open`
    });
    if (stopped.signal.aborted) void pull.close();
    for await (const message of pull) {
      if (stopped.signal.aborted) message.nak();
      else held.take(message, receiver);
    }
  }

  async function run(): Promise<void> {
    let failures = 0;
    while (!stopped.signal.aborted) {
      if (!(await link.isUpWithin(1000))) continue;
      try {
        consumer ??= await open();
        onFault(undefined);
        await pullOnce(consumer);
        failures = 0;
        await held.fewerThan(REFILL_BELOW);
      } catch (cause) {
        consumer = undefined;
        failures += 1;
        onFault(cause);
        await pause(redeliveryDelayMs(failures), stopped.signal);
      }
    }
  }

  // The server may have come back without the consumer, and says nothing to a request for its
  // messages.
  const ignoreReconnects = link.onReconnect(() => {
    consumer = undefined;
    void pull?.close();
  });
  const running = run();
  return {
    drain() {
      draining ??= (async () => {
        stopped.abort();
        ignoreReconnects();
        receiver.stop();
        held.stopWaiting();
        void pull?.close();
        await running;
        await held.settled();
        await link.flush();
      })();
      return draining;
    },
  };
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms, undefined, { signal }).catch(() => undefined);
