// The consumers of this process: each pulls from a durable JetStream consumer and recovers by
// itself.
import type { ConsumerMessages, Consumer as JetStreamConsumer, JsMsg } from "@nats-io/jetstream";
import type { Clock } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/logger.ts";
import { retry } from "../../runtime/retry.ts";
import { MAX_UNDER_WAY } from "../bus.ts";
import type { Consumer } from "../bus.ts";
import type { Receiver } from "../delivery.ts";
import type { NatsLink } from "./connection.ts";
import { textOf, withoutNonces } from "./errors.ts";
import { createHeldMessages } from "./held-messages.ts";
import type { Received } from "./opener.ts";
import type { KeyCheck } from "./refusals.ts";
import { NotMadeError } from "./stream-access.ts";
import type { StreamAccess } from "./stream-access.ts";
import type { ConsumerSpec } from "./topology.ts";

export interface ConsumersOptions {
  readonly link: NatsLink;
  readonly access: StreamAccess;
  readonly clock: Clock;
  readonly log: Logger;
  readonly ackWaitMs: number;
}

/**
 * Failures in a row before one is logged: a single lost answer is requested again and needs no
 * attention.
 */
const LOGGED_FAILURES = 2;

export function createConsumers(options: ConsumersOptions) {
  const { access, log } = options;
  const consumers = new Set<Consumer>();
  const faults = new Map<string, string>();
  const logged = new Map<string, string>();

  function noteFault(consumer: string, fault: unknown, failures = 0): void {
    if (fault === undefined) {
      faults.delete(consumer);
      if (logged.delete(consumer)) log.info({ consumer }, "consuming resumed");
      return;
    }
    const reason = withoutNonces(textOf(fault));
    faults.set(consumer, reason);
    if (failures < LOGGED_FAILURES || logged.get(consumer) === reason) return;
    logged.set(consumer, reason);
    if (fault instanceof NotMadeError) log.info({ consumer, reason }, "waiting for the hub");
    else log.warn({ consumer, err: fault }, "consuming interrupted; retrying");
  }

  const add = (consumer: Consumer): Consumer => {
    consumers.add(consumer);
    return consumer;
  };

  return {
    /** Adds a consumer to drain with the others. */
    add,
    pull<T>(spec: ConsumerSpec, source: Source<T>): Consumer {
      const name = `${spec.stream}/${spec.durable}`;
      const consumer = startPulling({
        ...options,
        ...source,
        open: () => access.openConsumer(spec),
        onFault: (fault, failures) => noteFault(name, fault, failures),
      });
      return add({
        async drain() {
          await consumer.drain();
          faults.delete(name);
          logged.delete(name);
        },
      });
    },
    /** Why one of the consumers cannot consume; undefined when all can. */
    fault: (): string | undefined => [...faults.values()][0],
    async drain(): Promise<void> {
      await Promise.all([...consumers].map((consumer) => consumer.drain()));
    },
  };
}

/** How messages are read and handled. */
export interface Source<T> {
  readonly read: (message: JsMsg) => Received<T>;
  readonly receiver: Receiver<T>;
  /** Maximum bytes held at a time; default: no bound. */
  readonly maxBytes?: number;
  /** With a wrong key, takes one message at a time, at least 5 s apart. */
  readonly keyCheck?: KeyCheck;
}

interface PullOptions<T> extends Source<T>, Pick<ConsumersOptions, "link" | "clock" | "ackWaitMs"> {
  readonly open: () => Promise<JetStreamConsumer>;
  /**
   * Called with the error that keeps messages from arriving and the number of failures in a row;
   * with undefined once they arrive again.
   */
  readonly onFault: (fault: unknown, failures?: number) => void;
}

// The server disconnects a client with more than 64 MiB pending (max_pending), and a message may
// have 1 MiB (max_payload).
const MAX_REQUESTED = 60;

// Between accounts, the server keeps a dead process's request until it expires, and gives it
// messages, which come back after the ack wait. This is shorter than the ack wait, so the same
// request takes no message twice.
const PULL_MS = 5000;
// With a wrong key, a consumer pauses, leaving the messages to others.
const WRONG_KEY_PAUSE_MS = 5000;

// Silence for two to three of these shows that a request reached no leader of the cluster.
const IDLE_HEARTBEAT_MS = 2000;

function startPulling<T>(options: PullOptions<T>): Consumer {
  const { open, link, clock, receiver, keyCheck, onFault } = options;
  const most = { messages: MAX_UNDER_WAY, bytes: options.maxBytes ?? Infinity };
  const held = createHeldMessages({ ...options, most });
  const stopping = new AbortController();
  const { signal } = stopping;
  let consumer: JetStreamConsumer | undefined;
  let messages: ConsumerMessages | undefined;

  /** Makes one request to the server and takes its messages until it is satisfied or expires. */
  async function pull(): Promise<void> {
    await held.room.wait();
    if (signal.aborted || !(await link.isUpWithin(1000))) return;
    consumer ??= await open();
    onFault(undefined);
    if (keyCheck?.fault() !== undefined) await clock.pause(WRONG_KEY_PAUSE_MS, signal);
    const portion = keyCheck?.fault() === undefined ? MAX_REQUESTED : 1;
    messages = await consumer.fetch({
      max_messages: Math.min(portion, held.room.left()),
      expires: PULL_MS,
      idle_heartbeat: IDLE_HEARTBEAT_MS,
      bind: true, // the client's own recovery waits half a minute between attempts; ours is `open`
    });
    if (signal.aborted) void messages.close();
    for await (const message of messages) {
      if (signal.aborted) message.nak();
      else held.take(message);
    }
  }
  async function run(): Promise<void> {
    const onRetry = (cause: unknown, failures: number): void => {
      consumer = undefined;
      onFault(cause, failures);
    };
    while (!signal.aborted) await retry(pull, { clock, signal, onRetry });
  }

  // The server may have come back without the consumer, and then never answers a request for its
  // messages.
  const ignoreReconnects = link.onReconnect(() => {
    consumer = undefined;
    void messages?.close();
  });
  const running = run();

  async function drain(): Promise<void> {
    stopping.abort();
    ignoreReconnects();
    receiver.stop();
    held.room.stopWaiting();
    void messages?.close();
    await running.catch(() => undefined); // rejects with the signal's reason
    await held.settled();
    await link.flush();
  }
  let draining: Promise<void> | undefined;
  return { drain: () => (draining ??= drain()) };
}
