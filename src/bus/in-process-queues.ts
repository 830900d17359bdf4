// The queues of the in-process bus: one of ticks for each location, and one of reports.
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import { REPORT_MAX_AGE_MS, TICK_MAX_AGE_MS } from "./bus.ts";
import type { MessageKind } from "./delivery.ts";
import { createQueue } from "./in-process-queue.ts";
import type { Queue } from "./in-process-queue.ts";

export interface Queues {
  readonly reports: Queue;
  ticks(locationId: string): Queue;
  close(): Promise<void>;
}

export interface QueuesOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Told of each message that nobody took in time. */
  readonly onDropped: (kind: MessageKind) => void;
}

export function createQueues({ clock, log, onDropped }: QueuesOptions): Queues {
  const newQueue = (kind: MessageKind, maxAgeMs: number): Queue =>
    createQueue({
      clock,
      maxAgeMs,
      onExpired() {
        log.warn({ kind }, "message expired before anyone took it");
        onDropped(kind);
      },
    });
  const reports = newQueue("reports", REPORT_MAX_AGE_MS);
  const ticks = new Map<string, Queue>();

  return {
    reports,
    ticks(locationId) {
      const known = ticks.get(locationId);
      const queue = known ?? newQueue("ticks", TICK_MAX_AGE_MS);
      ticks.set(locationId, queue);
      return queue;
    },
    async close() {
      const queues = [...ticks.values(), reports];
      await Promise.all(queues.map((queue) => queue.close()));
    },
  };
}
