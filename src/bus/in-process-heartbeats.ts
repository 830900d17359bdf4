// Heartbeats on the in-process bus: one of those that listen is told of each, and may answer it.
import type { Consumer } from "./bus.ts";
import { HEARTBEAT_ANSWER_MS } from "./bus.ts";
import type { Listener } from "./delivery.ts";

export interface HeartbeatLine {
  /** The hub's time; null where nobody listens, or answers in time. */
  send(locationId: string, data: Uint8Array): Promise<number | null>;
  attach(listener: Listener): Consumer;
  /** Resolves when what was told is handled. */
  close(): Promise<void>;
}

export function createHeartbeatLine(): HeartbeatLine {
  const listeners = new Set<Listener>();
  return {
    async send(locationId, data) {
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
    attach(listener) {
      listeners.add(listener);
      return {
        drain() {
          listeners.delete(listener);
          return listener.settled();
        },
      };
    },
    async close() {
      const listening = [...listeners];
      listeners.clear();
      await Promise.all(listening.map((listener) => listener.settled()));
    },
  };
}
