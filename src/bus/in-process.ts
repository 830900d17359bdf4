// The bus of a service that runs in one process: queues in memory, under the promises of the one
// between processes.
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import { unavailable } from "../model/errors.ts";
import { locationIdValidator } from "../model/location.ts";
import type { Bus } from "./bus.ts";
import { MAX_REPORTS_PER_BATCH } from "./bus.ts";
import type { EncodedMessage } from "./codec.ts";
import {
  decodeReports,
  decodeTicks,
  encodeHeartbeat,
  encodeReports,
  encodeTicks,
  locationOf,
} from "./codec.ts";
import type { MessageKind } from "./delivery.ts";
import { createListener, receiveEach, receiveInBatches } from "./delivery.ts";
import { createHeartbeatLine } from "./in-process-heartbeats.ts";
import type { Queue } from "./in-process-queue.ts";
import { createQueues } from "./in-process-queues.ts";

export interface InProcessBusOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Told of each message that could not be decoded, or that nobody took in time. */
  readonly onDropped?: (kind: MessageKind) => void;
}

const TICKS = { kind: "ticks", decode: decodeTicks } as const;
const REPORTS = { kind: "reports", decode: decodeReports } as const;

export function createInProcessBus({
  clock,
  log,
  onDropped = () => undefined,
}: InProcessBusOptions): Bus {
  const told = { log, onDropped };
  const queues = createQueues({ clock, ...told });
  const heartbeats = createHeartbeatLine();
  let closing: Promise<void> | undefined;

  function publish(queue: Queue, messages: readonly EncodedMessage[], locationId: string): void {
    if (closing) throw unavailable("the bus is closed", { part: "the bus" });
    for (const message of messages) queue.publish(message, locationId);
  }

  return {
    durable: false,
    async publishTicks(ticks) {
      if (ticks.length === 0) return;
      const locationId = locationOf(ticks);
      const queue = queues.ticks(locationId);
      publish(queue, encodeTicks(ticks).messages, locationId);
    },
    async consumeTicks(locationId, handler) {
      const queue = queues.ticks(locationIdValidator.parse(locationId));
      return queue.attach(receiveEach({ ...TICKS, ...told, handler }));
    },
    async publishReports(batch) {
      if (batch.length === 0) return;
      const { messages } = encodeReports(batch);
      publish(queues.reports, messages, locationOf(batch));
    },
    async consumeReports(handler) {
      const handling = { ...REPORTS, ...told, handler };
      return queues.reports.attach(receiveInBatches(handling, MAX_REPORTS_PER_BATCH));
    },
    reportsSafe: () => queues.reports.emptied(),
    async sendHeartbeat(heartbeat) {
      const data = encodeHeartbeat(heartbeat);
      return heartbeats.send(locationOf([heartbeat]), data);
    },
    async consumeHeartbeats(handler) {
      return heartbeats.attach(createListener(handler, told));
    },
    status: () =>
      closing
        ? { connected: false, detail: "in this process, closed" }
        : { connected: true, detail: "in this process" },
    announcedServers: () => [],
    close() {
      closing ??= (async () => {
        await Promise.all([heartbeats.close(), queues.close()]);
      })();
      return closing;
    },
  };
}
