// The consumers that one process has on NATS, and what keeps them from consuming.
import type { JetStreamClient } from "@nats-io/jetstream";
import type { Logger } from "../../runtime/logger.ts";
import type { Consumer } from "../bus.ts";
import type { Receiver } from "../delivery.ts";
import type { NatsLink } from "./connection.ts";
import { startPulling } from "./consumer.ts";
import { textOf } from "./errors.ts";
import type { ConsumerSpec, Topology } from "./topology.ts";

export interface Consumers {
  pull(spec: ConsumerSpec, receiver: Receiver): Consumer;
  add(consumer: Consumer): Consumer;
  /** What keeps one of them from consuming. */
  fault(): string | undefined;
  drain(): Promise<void>;
}

export interface ConsumersOptions {
  readonly link: NatsLink;
  readonly client: JetStreamClient;
  readonly topology: Topology;
  readonly log: Logger;
  readonly ackWaitMs: number;
}

export function createConsumers({
  link,
  client,
  topology,
  log,
  ackWaitMs,
}: ConsumersOptions): Consumers {
  const consumers = new Set<Consumer>();
  const faults = new Map<string, string>();

  function noteFault(consumer: string, fault: unknown): void {
    const known = faults.get(consumer);
    if (fault === undefined) {
      faults.delete(consumer);
      if (known !== undefined) log.info({ consumer }, "consuming goes on");
    } else if (textOf(fault) !== known) {
      faults.set(consumer, textOf(fault));
      log.warn({ consumer, err: fault }, "consuming was interrupted");
    }
  }

  const add = (consumer: Consumer): Consumer => {
    consumers.add(consumer);
    return consumer;
  };

  return {
    add,
    pull(spec, receiver) {
      const name = `${spec.stream}/${spec.durable}`;
      const consumer = startPulling({
        open: async () => client.consumers.getConsumerFromInfo(await topology.ensureConsumer(spec)),
        link,
        receiver,
        ackWaitMs,
        onFault: (fault) => noteFault(name, fault),
      });
      return add({
        async drain() {
          await consumer.drain();
          faults.delete(name);
        },
      });
    },
    fault: () => [...faults.values()][0],
    async drain() {
      await Promise.all([...consumers].map((consumer) => consumer.drain()));
    },
  };
}
