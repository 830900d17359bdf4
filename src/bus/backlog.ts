// The messages of the in-process bus that wait: for a consumer, or for the time to come again.
import type { Clock } from "../runtime/clock.ts";

export interface StoredMessage {
  readonly locationId: string;
  readonly data: Uint8Array;
  /** By the monotonic clock. */
  readonly storedAt: number;
  /** Deliveries so far. */
  readonly attempts: number;
}

export interface Backlog {
  add(message: StoredMessage): void;
  addLater(message: StoredMessage, afterMs: number): void;
  /** The one that waits for longest, of those that are not too old. */
  take(): StoredMessage | undefined;
  isEmpty(): boolean;
  /** Forgets all, and what is added from now on. */
  close(): void;
}

export interface BacklogOptions {
  readonly maxAgeMs: number;
  readonly clock: Clock;
  /** Told of each message that nobody took within `maxAgeMs`. */
  readonly onExpired: () => void;
  /** Told that there is one to take. */
  readonly onAdded: () => void;
}

export function createBacklog({ clock, maxAgeMs, onExpired, onAdded }: BacklogOptions): Backlog {
  const waiting = new Set<StoredMessage>();
  const timers = new Set<NodeJS.Timeout>();
  let closed = false;

  const expireIfOld = (message: StoredMessage): boolean => {
    if (clock.monotonic() - message.storedAt <= maxAgeMs) return false;
    waiting.delete(message);
    onExpired();
    return true;
  };
  // Without a consumer, messages pile up: the oldest are in front.
  const expireOldest = (): void => {
    for (const message of waiting) if (!expireIfOld(message)) return;
  };
  const add = (message: StoredMessage): void => {
    if (closed) return;
    expireOldest();
    waiting.add(message);
    onAdded();
  };

  return {
    add,
    addLater(message, afterMs) {
      if (closed) return;
      const timer = setTimeout(() => {
        timers.delete(timer);
        add(message);
      }, afterMs);
      timers.add(timer);
    },
    take() {
      for (const message of waiting) {
        if (expireIfOld(message)) continue;
        waiting.delete(message);
        return message;
      }
      return undefined;
    },
    isEmpty: () => waiting.size === 0 && timers.size === 0,
    close() {
      closed = true;
      waiting.clear();
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}
