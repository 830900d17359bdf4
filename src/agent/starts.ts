// Runs that wait for their instant, for a place (places.ts), and for enough time after the previous
// start (spacing.ts).
import type { Clock } from "../runtime/clock.ts";
import { createPlaces } from "./places.ts";
import type { Claim } from "./places.ts";
import { BACKLOG_AFTER_MS, createSpacing } from "./spacing.ts";

/**
 * This many runs of a backlog start in one turn, so that each step of a call finds its code in the
 * processor's caches. A response waits behind four starts at most.
 */
const STARTS_A_TURN = 4;

/** A run waiting to start. Thousands wait, so this uses callbacks instead of promises. */
export interface Start extends Claim {
  /** Starts to withdraw together. */
  readonly group: object;
  /** When its tick arrived; epoch milliseconds. */
  readonly received: number;
  /** What its lateness counts from: the run's `instant`, or when its next call was ready. */
  readonly ready: number;
  /** Called when the run may start, from its `instant` on; without a place after its `latest`. */
  readonly begin: (place?: Place) => void;
  /** Called instead if its group is withdrawn. */
  readonly withdrawn: (reason: Error) => void;
}

/** A run's place among those that run at the same time. */
export interface Place {
  release(): void;
}

/** `count`: maximum calls at a time. */
export function createStarts(clock: Clock, count: number) {
  const places = createPlaces<Start>(count);
  const spacing = createSpacing(clock);
  const groups = createGroups();

  function take(start: Start | undefined, how: (start: Start) => void): Start | undefined {
    if (!start) return undefined;
    how(start);
    groups.leave(start);
    return start;
  }
  const takePlace = (now: number) => take(places.next(now), places.take);

  return {
    add(start: Start): void {
      groups.enter(start);
      places.add(start);
    },
    /**
     * When `takeExpired` or `takeNext` may return a start, in epoch milliseconds; Infinity: not by
     * time alone.
     */
    dueAt(now: number): number {
      if (places.expired(now)) return now;
      return places.next(now) ? spacing.nextAt(now) : places.changesAt();
    },
    haveFree: () => places.areFree(),
    /** Removes and returns a start whose `latest` has passed. */
    takeExpired: (now: number) => take(places.expired(now), places.withdraw),
    /** Returns the starts that may begin in this turn, now with a place each. */
    takeNext(now: number): Start[] {
      const taken: Start[] = [];
      if (spacing.nextAt(now) > now) return taken;
      for (let start = takePlace(now); start; start = takePlace(now)) {
        // The clock may have been set back since.
        const lateMs = Math.max(0, now - start.ready);
        spacing.began(now, lateMs);
        taken.push(start);
        if (lateMs < BACKLOG_AFTER_MS || taken.length === STARTS_A_TURN) break;
      }
      return taken;
    },
    release(start: Start): void {
      places.release(start);
      spacing.ended();
    },
    withdraw(group: object, reason: Error): void {
      for (const start of groups.remove(group)) {
        places.withdraw(start);
        start.withdrawn(reason);
      }
    },
  };
}

function createGroups() {
  const groups = new Map<object, Set<Start>>();
  return {
    enter(start: Start): void {
      const members = groups.get(start.group) ?? new Set();
      groups.set(start.group, members.add(start));
    },
    leave(start: Start): void {
      const members = groups.get(start.group);
      members?.delete(start);
      if (members?.size === 0) groups.delete(start.group);
    },
    /** Removes a group and returns its starts. */
    remove(group: object): Iterable<Start> {
      const members = groups.get(group) ?? [];
      groups.delete(group);
      return members;
    },
  };
}
