// Holds ticks until they are due, a place is free and the thread is on time.
import { startOf } from "../model/tick.ts";
import type { Tick } from "../model/tick.ts";
import { isLong } from "./http/behaviour.ts";
import type { Message } from "./messages.ts";
import type { AgentMetrics } from "./metrics.ts";
import type { Claim } from "./places.ts";
import type { Place, Start, Turns } from "./turns.ts";

/** Exactly one of the two is called for each held tick. */
export interface Fates {
  /** Without a place: too late. */
  readonly begin: (tick: Tick, start: Start, place?: Place) => void;
  readonly withdrawn: (resultId: string, reason: Error) => void;
}

export function createHeldTicks({ heldTicks }: AgentMetrics, turns: Turns, fates: Fates) {
  let count = 0;
  return {
    count: () => count,
    /**
     * Keeps only the tick's text: thousands of parsed ticks would take several times the memory
     * and the garbage collector's time.
     */
    add(tick: Tick, message: Message): void {
      const { result_id } = tick;
      const text = JSON.stringify(tick);
      const leave = (): void => heldTicks.set((count -= 1));
      const start: Start = {
        ...claimOf(tick),
        group: message,
        begin(place) {
          leave();
          message.started = true;
          fates.begin(JSON.parse(text) as Tick, start, place);
        },
        withdrawn(reason) {
          leave();
          fates.withdrawn(result_id, reason);
        },
      };
      heldTicks.set((count += 1));
      turns.add(start);
    },
  };
}

const claimOf = (tick: Tick): Claim => ({
  owner: tick.owner_hash ?? "",
  isManual: tick.trigger === "MANUAL",
  isLong: tick.calls.some(({ tags }) => isLong(tags)),
  instant: startOf(tick),
  latest: tick.latest_start,
});
