// The messages of ticks that the bus hands over, each done when all of its ticks are.
import type { Tick } from "../model/tick.ts";
import type { TickRuns } from "./tick-runs.ts";

export interface Deliveries {
  /**
   * Takes the ticks of one message. Resolves when the reports of all are published; rejects, after
   * each has ended one way or the other, when the message is to be delivered again.
   */
  take(ticks: readonly Tick[]): Promise<void>;
  /**
   * Gives back the messages of which no tick has started, and those still to come. A message with a
   * tick that has started is finished: given back whole, it would have that tick run a second time.
   */
  giveBack(): void;
  /** Ends what runs; all messages are given back. */
  cancel(): void;
}

interface Message {
  started: boolean;
  readonly hold: AbortController;
}

export function createDeliveries(runs: TickRuns): Deliveries {
  const messages = new Set<Message>();
  let stopping = false;

  const letGo = ({ hold }: Message): void => hold.abort(new Error("the agent is stopping"));

  return {
    async take(ticks) {
      const message: Message = { started: false, hold: new AbortController() };
      messages.add(message);
      if (stopping) letGo(message);
      const hold = {
        signal: message.hold.signal,
        onStart: () => void (message.started = true),
      };
      const ends = await Promise.allSettled(ticks.map((tick) => runs.deliver(tick, hold)));
      messages.delete(message);
      for (const end of ends) if (end.status === "rejected") throw end.reason as Error;
    },
    giveBack() {
      stopping = true;
      for (const message of messages) if (!message.started) letGo(message);
    },
    cancel() {
      for (const message of messages) letGo(message);
      runs.cancel(new Error("the agent stopped before the run ended"));
    },
  };
}
