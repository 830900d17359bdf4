// The bus of a service that runs in one process: queues in memory, under the promises of the one between processes.
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import { unavailable } from "../model/errors.ts";
import { locationIdValidator } from "../model/location.ts";
import type { Bus } from "./bus.ts";
import {
  HEARTBEAT_ANSWER_MS,
  MAX_REPORTS_PER_BATCH,
  REPORT_MAX_AGE_MS,
  TICK_MAX_AGE_MS,
} from "./bus.ts";
import type { EncodedMessage } from "./codec.ts";
import {
  decodeReports,
  decodeTicks,
  encodeHeartbeat,
  encodeReports,
  encodeTicks,
  locationOf,
} from "./codec.ts";
import type { Listener, MessageKind } from "./delivery.ts";
import { createListener, receiveEach, receiveInBatches } from "./delivery.ts";
import type { Queue } from "./in-process-queue.ts";
import { createQueue } from "./in-process-queue.ts";

export interface InProcessBusOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Told of each message that could not be decoded, or that nobody took in time. */
  readonly onDropped?: (kind: MessageKind) => void;
}

export function createInProcessBus({
  clock,
  log,
  onDropped = () => undefined,
}: InProcessBusOptions): Bus {
  const newQueue = (kind: MessageKind, maxAgeMs: number): Queue =>
    createQueue({
      clock,
      maxAgeMs,
      onExpired() {
        log.warn({ kind }, "message expired before anyone took it");
        onDropped(kind);
      },
    });
  const tickQueues = new Map<string, Queue>();
  const reports = newQueue("reports", REPORT_MAX_AGE_MS);
  const listeners = new Set<Listener>();
  let closing: Promise<void> | undefined;

  function ticksFor(locationId: string): Queue {
    const known = tickQueues.get(locationId);
    const queue = known ?? newQueue("ticks", TICK_MAX_AGE_MS);
    tickQueues.set(locationId, queue);
    return queue;
  }

  function publish(
    queue: Queue,
    messages: readonly EncodedMessage[],
    locationId: string,
  ): void {
    if (closing) throw unavailable("the bus is closed");
    for (const message of messages) queue.publish(message, locationId);
  }

  return {
    durable: false,
    async publishTicks(ticks) {
      if (ticks.length === 0) return;
      const locationId = locationOf(ticks);
      publish(ticksFor(locationId), encodeTicks(ticks).messages, locationId);
    },
    async consumeTicks(locationId, handler) {
      const queue = ticksFor(locationIdValidator.parse(locationId));
      const decode = decodeTicks;
      return queue.attach(
        receiveEach({ kind: "ticks", decode, handler, log, onDropped }),
      );
    },
    async publishReports(batch) {
      if (batch.length === 0) return;
      publish(reports, encodeReports(batch).messages, locationOf(batch));
    },
    async consumeReports(handler) {
      const decode = decodeReports;
      return reports.attach(
        receiveInBatches(
          { kind: "reports", decode, handler, log, onDropped },
          MAX_REPORTS_PER_BATCH,
        ),
      );
    },
    reportsSafe: () => reports.emptied(),
    async sendHeartbeat(heartbeat) {
      const data = encodeHeartbeat(heartbeat);
      const locationId = locationOf([heartbeat]);
      const [listener] = listeners;
      if (!listener) return null;
      return new Promise((resolve) => {
        const giveUp = (): void => resolve(null);
        const timer = setTimeout(giveUp, HEARTBEAT_ANSWER_MS);
        void listener
          .tell(locationId, data, resolve)
          .then(giveUp)
          .finally(() => clearTimeout(timer));
      });
    },
    async consumeHeartbeats(handler) {
      const listener = createListener(handler, { log, onDropped });
      listeners.add(listener);
      return {
        drain() {
          listeners.delete(listener);
          return listener.settled();
        },
      };
    },
    status: () =>
      closing
        ? { connected: false, detail: "in this process, closed" }
        : { connected: true, detail: "in this process" },
    announcedServers: () => [],
    close() {
      closing ??= (async () => {
        const listening = [...listeners];
        listeners.clear();
        const queues = [...tickQueues.values(), reports];
        await Promise.all([
          ...queues.map((queue) => queue.close()),
          ...listening.map((listener) => listener.settled()),
        ]);
      })();
      return closing;
    },
  };
}
