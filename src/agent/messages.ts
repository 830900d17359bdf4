// The agent's open messages, and the ticks they wait for. A tick may be in several: each redelivery
// is another message.

export interface Message {
  /** Whether one of its ticks has started. */
  started: boolean;
  /** Ticks that are held until they start. */
  held: number;
  /** Called when all of its ticks that were held have started. */
  readonly onStarted: () => void;
  /** Ticks that have not ended. */
  open: number;
  /** Why it must be redelivered, if it must. */
  failure?: Error | undefined;
  /** Rejects, once every tick has ended, if it must be redelivered. */
  readonly done: PromiseWithResolvers<void>;
}

export function createMessages() {
  const all = new Set<Message>();
  /** Messages waiting for an unfinished tick, by `result_id`. */
  const underWay = new Map<string, Message[]>();

  function tickEnded(message: Message, failure?: Error): void {
    message.open -= 1;
    message.failure ??= failure;
    if (message.open > 0) return;
    all.delete(message);
    if (message.failure) message.done.reject(message.failure);
    else message.done.resolve();
  }

  return {
    /** Those that are not done. */
    all: all as ReadonlySet<Message>,
    /** Adds a message of that many ticks. */
    open(ticks: number, onStarted: () => void): Message {
      const done = Promise.withResolvers<void>();
      const message = { started: false, held: 0, onStarted, open: ticks, done };
      all.add(message);
      return message;
    },
    /** Makes the message wait for the tick; returns whether it is the first to do so. */
    join(id: string, message: Message): boolean {
      const waiting = underWay.get(id);
      if (waiting) waiting.push(message);
      else underWay.set(id, [message]);
      return !waiting;
    },
    /** Ends the tick for all messages waiting for it; after a failure, they are redelivered. */
    ended(id: string, failure?: Error): void {
      const waiting = underWay.get(id) ?? [];
      underWay.delete(id);
      for (const message of waiting) tickEnded(message, failure);
    },
  };
}
