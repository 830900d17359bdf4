// Heartbeats: best effort, neither kept nor redelivered. One consumer gets each, and may answer.
import type { Heartbeat } from "../model/location.ts";
import type { Consumer, HeartbeatHandler } from "./bus.ts";
import { HEARTBEAT_ANSWER_MS } from "./bus.ts";
import type { Observer } from "./delivery.ts";

export type HeartbeatListener = ReturnType<typeof createHeartbeatListener>;

export function createHeartbeatListener(handler: HeartbeatHandler, { log }: Observer) {
  const underWay = new Set<Promise<void>>();
  return {
    /** Resolves when the heartbeat is handled; never rejects. */
    receive(heartbeat: Heartbeat, answer: (hubTime: number) => void): Promise<void> {
      const work = handler(heartbeat, answer).catch((err: unknown) => {
        log.warn({ err, kind: "heartbeat" }, "message rejected");
      });
      underWay.add(work);
      void work.then(() => underWay.delete(work));
      return work;
    },
    /** Resolves when the heartbeats received so far are handled. */
    async settled(): Promise<void> {
      await Promise.all(underWay);
    },
  };
}

/** Connects senders and listeners within this process. */
export function createHeartbeatLine() {
  const listeners = new Set<HeartbeatListener>();
  return {
    /** The hub's time; null when nobody listens, or answers in time. */
    async send(heartbeat: Heartbeat): Promise<number | null> {
      const [listener] = listeners;
      if (!listener) return null;
      return new Promise((resolve) => {
        const giveUp = (): void => resolve(null);
        const timer = setTimeout(giveUp, HEARTBEAT_ANSWER_MS);
        void listener
          .receive(heartbeat, resolve)
          .then(giveUp)
          .finally(() => clearTimeout(timer));
      });
    },
    attach(listener: HeartbeatListener): Consumer {
      listeners.add(listener);
      return {
        drain() {
          listeners.delete(listener);
          return listener.settled();
        },
      };
    },
    /** Detaches the listeners; resolves when what they received is handled. */
    async close(): Promise<void> {
      const listening = [...listeners];
      listeners.clear();
      await Promise.all(listening.map((listener) => listener.settled()));
    },
  };
}
